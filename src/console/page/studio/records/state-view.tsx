import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { TextLine } from '../../shell/controls.tsx';
import { CopyButton } from '../../shell/copy-button.tsx';
import { Icon } from '../../shell/icon.tsx';
import { ReadShown } from './read-shown.tsx';
import { useRead } from './use-read.ts';
import { useStudio } from '../studio-parts.ts';
import type { JsonNode } from '../json/json-scan.ts';
import { findInJson, type FoundValue } from '../json/json-search.ts';
import type { ScannedJson } from '../json/json-text.ts';
import { formatPreview, JsonTree } from '../json/json-tree.tsx';

/** Letters of a state that are copied at once. */
const COPIED = 1_000_000;

/** The newest state of a thread. */
export function StateView({ thread }: { thread: string }) {
  const { agent } = useStudio();
  const read = useRead(
    async (signal) => {
      const path = `threads/${encodeURIComponent(thread)}/state`;
      const json = await agent.fetchScanned(path, { signal });
      return { json, values: (await json.findChild(json.root, 'values', signal)) ?? json.root };
    },
    'states',
    [agent, thread],
  );
  return (
    <ReadShown state={read}>
      {({ json, values }) => <SearchedState json={json} values={values} />}
    </ReadShown>
  );
}

/** A state as a tree. As long as a word is searched, the values that have it. */
export function SearchedState({ json, values }: { json: ScannedJson; values: JsonNode }) {
  const word = useSignal('');
  return (
    <>
      <div class="filters">
        <TextLine
          type="search"
          name="find_in_state"
          aria-label="Find in the state"
          placeholder="Find a name or a value"
          of={word}
        />
        {values.end - values.start < COPIED && (
          <CopyButton
            text={() => json.getSlice(values)}
            class="plain"
            aria-label="Copy the state"
            title="Copy the state"
            label={<Icon name="copy" />}
          />
        )}
      </div>
      {word.value.trim() === '' ? (
        <JsonTree json={json} node={values} />
      ) : (
        <FoundValues json={json} values={values} word={word.value.trim()} />
      )}
    </>
  );
}

/** Milliseconds after the last letter until the search begins. */
const PAUSE = 200;

function FoundValues({
  json,
  values,
  word,
}: {
  json: ScannedJson;
  values: JsonNode;
  word: string;
}) {
  const found = useSignal<FoundValue[] | undefined>(undefined);
  useEffect(() => {
    const leaving = new AbortController();
    const { signal } = leaving;
    const search = async (): Promise<void> => {
      const all = await findInJson(json, values, { word, signal });
      if (!signal.aborted) found.value = all;
    };
    const timer = setTimeout(() => void search().catch(() => undefined), PAUSE);
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
  }, [json, values, word]);
  if (found.value === undefined) return <p class="quiet">Searching …</p>;
  if (found.value.length === 0) return <p class="quiet">No name and no value has “{word}”.</p>;
  return (
    <ul class="found" aria-label="Values that have the word">
      {found.value.map(({ path, node }) => (
        <li key={path}>
          <bdi class="mono">{path}</bdi>
          <code>{formatPreview(json, node)}</code>
          <CopyButton
            text={() => json.getSlice(node).slice(0, COPIED)}
            class="plain"
            aria-label={`Copy the value of ${path}`}
            title="Copy the value"
            label={<Icon name="copy" />}
          />
        </li>
      ))}
    </ul>
  );
}
