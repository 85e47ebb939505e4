import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { parseJson } from '../forms/schema-fields.ts';
import { useStudio } from '../studio-parts.ts';
import { buildItemCatalog } from './catalogs.ts';
import { ReadShown } from './read-shown.tsx';
import { RecordList } from './record-list.tsx';
import { useRead } from './use-read.ts';
import type { StudioAgent } from '../agent.ts';
import { Button, TextLine } from '../../shell/controls.tsx';

type Sought = { query: string; filter: Record<string, unknown> };

/** The store of the agent: its namespaces as a tree, and the items below the one that was chosen. */
export function Store() {
  const namespace = useSignal<string[]>([]);
  const sought = useSignal<Sought>({ query: '', filter: {} });
  const catalog = useMemo(
    () => buildItemCatalog(namespace.value, sought.value),
    [namespace.value, sought.value],
  );
  return (
    <section>
      <h2>Store</h2>
      <h3>Namespaces</h3>
      <Namespaces
        namespace={[]}
        chosen={namespace.value}
        choose={(labels) => (namespace.value = labels)}
      />
      <h3>
        Items below{' '}
        {namespace.value.length === 0 ? 'all namespaces' : <bdi>{namespace.value.join(' › ')}</bdi>}
      </h3>
      <Search search={(given) => (sought.value = given)} />
      <RecordList key={JSON.stringify([namespace.value, sought.value])} catalog={catalog} />
    </section>
  );
}

type NamespacesProps = {
  namespace: readonly string[];
  chosen: readonly string[];
  choose: (labels: string[]) => void;
};

/** Namespaces deeper than this are not opened. Their items stand with those of the one above. */
const DEEPEST = 20;

/** The namespaces directly below one, each of which opens. `from`: the number of the first one. */
function Namespaces({ namespace, chosen, choose, from = 0 }: NamespacesProps & { from?: number }) {
  const { agent } = useStudio();
  const hasRest = useSignal(false);
  const read = useRead((signal) => fetchLabels(agent, namespace, { from, signal }), 'a store', [
    agent,
  ]);
  return (
    <ReadShown state={read}>
      {({ labels, next }) => (
        <>
          <ul class="namespaces">
            {labels.map((label) => (
              <Namespace
                key={label}
                namespace={[...namespace, label]}
                chosen={chosen}
                choose={choose}
              />
            ))}
          </ul>
          {next !== undefined && hasRest.value && (
            <Namespaces namespace={namespace} chosen={chosen} choose={choose} from={next} />
          )}
          {next !== undefined && !hasRest.value && (
            <Button label="More namespaces" press={() => (hasRest.value = true)} />
          )}
        </>
      )}
    </ReadShown>
  );
}

function Namespace({
  namespace,
  chosen,
  choose,
}: { namespace: string[] } & Omit<NamespacesProps, 'namespace'>) {
  const isOpen = useSignal(false);
  const isChosen = JSON.stringify(namespace) === JSON.stringify(chosen);
  const press = (): void => {
    if (isChosen) isOpen.value = !isOpen.value;
    else isOpen.value = true;
    choose(namespace);
  };
  return (
    <li>
      <Button
        class="plain"
        aria-expanded={isOpen.value}
        aria-pressed={isChosen}
        label={<bdi>{namespace.at(-1)}</bdi>}
        press={press}
      />
      {isOpen.value && namespace.length < DEEPEST && (
        <Namespaces namespace={namespace} chosen={chosen} choose={choose} />
      )}
    </li>
  );
}

function Search({ search }: { search: (sought: Sought) => void }) {
  const query = useSignal('');
  const filter = useSignal('');
  const fault = useSignal<string | undefined>(undefined);
  const handleSubmit = (event: Event): void => {
    event.preventDefault();
    const read = filter.value.trim() === '' ? { value: {} } : parseJson(filter.value);
    const fields =
      'value' in read && typeof read.value === 'object' && read.value !== null
        ? { ...read.value }
        : undefined;
    fault.value =
      'fault' in read ? read.fault : fields === undefined ? 'The filter is an object.' : undefined;
    if (fields !== undefined) search({ query: query.value, filter: fields });
  };
  return (
    <form class="filters" onSubmit={handleSubmit}>
      <label>
        <span>Semantic search</span>
        <TextLine name="query" of={query} />
      </label>
      <label>
        <span>Fields, as JSON</span>
        <TextLine name="filter" class="mono" placeholder='{"kind": "note"}' of={filter} />
      </label>
      <Button label="Search" />
      {fault.value !== undefined && <p class="wrong">{fault.value}</p>}
    </form>
  );
}

const PAGE = 200;

/** Reads the labels directly below a namespace, from the one of this number on. */
async function fetchLabels(
  agent: StudioAgent,
  namespace: readonly string[],
  { from, signal }: { from: number; signal: AbortSignal },
): Promise<{
  labels: string[];
  /** The number of the next ones; undefined where there are none. */
  next: number | undefined;
}> {
  const body = { prefix: namespace, max_depth: namespace.length + 1, limit: PAGE, offset: from };
  const json = await agent.fetchScanned('store/namespaces', { method: 'POST', body, signal });
  const list = await json.findChild(json.root, 'namespaces', signal);
  const { found } = list === undefined ? { found: [] } : await json.listChildren(list, signal);
  const labels = found
    .map((node) => json.parseSmall(node))
    .map((one) => (Array.isArray(one) ? (one[namespace.length] as unknown) : undefined));
  return {
    labels: labels.filter((one) => typeof one === 'string'),
    next: found.length >= PAGE ? from + PAGE : undefined,
  };
}
