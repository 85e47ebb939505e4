import { useSignal, type Signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { measureRowWindow } from '../../shell/row-window.ts';
import type { JsonChild, JsonNode } from './json-scan.ts';
import type { ScannedJson } from './json-text.ts';
import { Button } from '../../shell/controls.tsx';
import { CopyButton } from '../../shell/copy-button.tsx';
import { Icon } from '../../shell/icon.tsx';

const ROW = 24;
const HEIGHT = 420;
/** Letters of a value on its line, and of one that is unfolded. */
const ON_LINE = 160;
const UNFOLDED = 100_000;
/** Letters of a value that are copied. */
const COPIED = 1_000_000;

type TreeRow = { node: JsonChild; depth: number; isOpen: boolean; path: string };

const hasParts = ({ kind }: JsonNode): boolean => kind === 'object' || kind === 'list';

type TreeProps = { json: ScannedJson; node: JsonNode; label?: string };

/** A value of any size as a tree. Parts are looked into when they are opened, and only rows in sight are drawn. */
export function JsonTree({ json, node, label = 'State' }: TreeProps) {
  const rows = useSignal<TreeRow[] | undefined>(undefined);
  const top = useSignal(0);
  const whole = useSignal<JsonChild | undefined>(undefined);
  /** The row under the pointer or with the focus, which alone offers to copy its value: a tree has many rows. */
  const pointed = useSignal('');
  useEffect(() => {
    const leaving = new AbortController();
    whole.value = undefined;
    const read = async (): Promise<void> => {
      const { found } = await json.listChildren(node, leaving.signal);
      rows.value = hasParts(node)
        ? found.map((one) => buildRow(one, 0, ''))
        : [buildRow({ ...node, name: '' }, 0, '')];
    };
    read().catch(() => undefined);
    return () => leaving.abort();
  }, [json, node]);
  const toggle = async (at: number): Promise<void> => {
    const { value: shown = [] } = rows;
    const row = shown[at];
    if (row === undefined) return;
    if (!hasParts(row.node)) whole.value = row.node;
    else if (row.isOpen)
      rows.value = [
        ...shown.slice(0, at),
        { ...row, isOpen: false },
        ...shown.slice(findSubtreeEnd(shown, at)),
      ];
    else {
      const { found } = await json.listChildren(row.node);
      const place = rows.value?.indexOf(row) ?? -1;
      const inner = found.map((one) => buildRow(one, row.depth + 1, row.path));
      if (place >= 0)
        rows.value = [
          ...(rows.value ?? []).slice(0, place),
          { ...row, isOpen: true },
          ...inner,
          ...(rows.value ?? []).slice(place + 1),
        ];
    }
  };
  const { value: shown } = rows;
  if (shown === undefined) return <p aria-busy="true" />;
  const { first, count, before, behind } = measureRowWindow({
    top: top.value,
    height: HEIGHT,
    row: ROW,
    rows: shown.length,
  });
  return (
    <>
      <div
        class="json"
        role="group"
        tabIndex={0}
        aria-label={label}
        onScroll={({ currentTarget }) => (top.value = currentTarget.scrollTop)}
      >
        <div style={{ height: `${before}px` }} />
        {shown.slice(first, first + count).map((row, at) => (
          <RowShown
            key={row.path}
            json={json}
            row={row}
            pointed={pointed}
            toggle={() => void toggle(first + at)}
          />
        ))}
        <div style={{ height: `${behind}px` }} />
      </div>
      {whole.value !== undefined && <WholeValue json={json} node={whole.value} />}
    </>
  );
}

const buildRow = (node: JsonChild, depth: number, path: string): TreeRow => ({
  node,
  depth,
  isOpen: false,
  path: `${path}/${node.name}`,
});

function findSubtreeEnd(rows: readonly TreeRow[], at: number): number {
  const depth = rows[at]?.depth ?? 0;
  const end = rows.findIndex((one, index) => index > at && one.depth <= depth);
  return end < 0 ? rows.length : end;
}

function RowShown({
  json,
  row: { node, depth, isOpen, path },
  pointed,
  toggle,
}: {
  json: ScannedJson;
  row: TreeRow;
  pointed: Signal<string>;
  toggle: () => void;
}) {
  const text = formatPreview(json, node);
  const mayOpen = hasParts(node) || node.end - node.start > ON_LINE;
  const label = node.name === '' ? 'value' : node.name;
  return (
    <div
      class="json-row"
      style={{ height: `${ROW}px`, paddingLeft: `${depth * 16}px` }}
      onPointerEnter={() => (pointed.value = path)}
      onFocusIn={() => (pointed.value = path)}
    >
      {mayOpen ? (
        <Button
          class="plain"
          aria-expanded={hasParts(node) ? isOpen : undefined}
          label={label}
          press={toggle}
        />
      ) : (
        <span>{label}</span>
      )}{' '}
      <code>{text}</code>
      {pointed.value === path && node.end - node.start < COPIED && (
        <CopyButton
          text={() => json.getSlice(node)}
          class="plain copy"
          aria-label={`Copy the value of ${label}`}
          title="Copy the value"
          label={<Icon name="copy" />}
        />
      )}
    </div>
  );
}

/** Returns the beginning of a value on one line. */
export function formatPreview(json: ScannedJson, { start, end }: JsonNode): string {
  const text = json.text.getSlice(start, Math.min(end, start + ON_LINE));
  return end - start > ON_LINE ? `${text} … (${end - start} letters)` : text;
}

function WholeValue({ json, node }: { json: ScannedJson; node: JsonChild }) {
  const shown = json.text.getSlice(node.start, Math.min(node.end, node.start + UNFOLDED));
  const parsed = json.parseSmall(node, UNFOLDED);
  const value = typeof parsed === 'string' ? parsed : shown;
  return (
    <>
      <h3>{node.name}</h3>
      <pre>{value}</pre>
      {node.end - node.start > UNFOLDED && (
        <p class="note">
          These are the first {UNFOLDED} of its {node.end - node.start} letters.
        </p>
      )}
    </>
  );
}
