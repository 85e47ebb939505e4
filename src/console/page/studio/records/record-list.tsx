import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { Table } from '../../shell/table.tsx';
import { Time } from '../../shell/time.tsx';
import type { JsonNode } from '../json/json-scan.ts';
import { JsonTree } from '../json/json-tree.tsx';
import type { StudioAgent } from '../agent.ts';
import { useStudio } from '../studio-parts.ts';
import type { Catalog, RecordCell } from './catalogs.ts';
import { readListedRecord, type ListedRecord } from './listed-record.ts';
import { readRecords, RECORDS_ON_PAGE } from './read-records.ts';
import { ReadShown } from './read-shown.tsx';
import { useRead } from './use-read.ts';
import { Button, EmptyState } from '../../shell/controls.tsx';
import { Icon } from '../../shell/icon.tsx';

/** `more` shows what else there is about a record. */
type RecordListProps = {
  catalog: Catalog;
  more?: ((record: ListedRecord) => ComponentChildren) | undefined;
};

/** A list of the agent, a page at a time, and the record that was chosen. The catalog has to stay the same one. */
export function RecordList({ catalog, more }: RecordListProps) {
  const { agent } = useStudio();
  const from = useSignal(0);
  const chosen = useSignal<ListedRecord | undefined>(undefined);
  const read = useRead(
    (signal) => readRecords(agent, catalog, { from: from.value, signal }),
    catalog.things,
    [agent, catalog, from.value],
  );
  const movePage = (by: number): void => {
    from.value = Math.max(0, from.value + by);
    chosen.value = undefined;
  };
  return (
    <ReadShown state={read}>
      {({ records, hasMore }) => (
        <>
          <RecordTable
            catalog={catalog}
            records={records}
            chosen={chosen.value}
            choose={(record) => (chosen.value = record)}
          />
          {(hasMore || from.value > 0) && (
            <p class="pages">
              <Button
                disabled={from.value === 0}
                label="Ones before"
                press={() => movePage(-RECORDS_ON_PAGE)}
              />{' '}
              <Button disabled={!hasMore} label="More" press={() => movePage(RECORDS_ON_PAGE)} />
            </p>
          )}
          {chosen.value !== undefined && (
            <RecordShown catalog={catalog} listed={chosen.value} more={more} />
          )}
        </>
      )}
    </ReadShown>
  );
}

type RecordTableProps = {
  catalog: Catalog;
  records: readonly ListedRecord[];
  chosen: ListedRecord | undefined;
  choose: (record: ListedRecord) => void;
};

function RecordTable({ catalog: { columns }, records, chosen, choose }: RecordTableProps) {
  if (records.length === 0) return <EmptyState icon="list" title="None yet." />;
  const renderName = (record: ListedRecord, shown: ComponentChildren) => (
    <Button
      class="plain"
      aria-pressed={record === chosen}
      label={shown}
      press={() => choose(record)}
    />
  );
  const rows = records.map((record) => {
    const [first, ...others] = columns.map(({ cell }) => <CellShown cell={cell(record.fields)} />);
    return { key: record.node.start, cells: [renderName(record, first), ...others] };
  });
  return <Table heads={columns.map(({ head }) => head)} rows={rows} />;
}

/** Letters of a text in a table. All of it stands with the record. */
const IN_CELL = 200;

/** A cell without content, which a narrow table leaves out. */
const NOTHING = <span class="nothing">-</span>;

function CellShown({ cell }: { cell: RecordCell }) {
  if ('time' in cell) return cell.time === '' ? NOTHING : <Time at={cell.time} isToCome />;
  if (cell.text === '') return NOTHING;
  if (cell.icon !== undefined)
    return (
      <span class={`sign ${cell.text === 'success' ? 'done' : cell.text}`}>
        <Icon name={cell.icon} turns={cell.icon === 'turn'} />
        {cell.text}
      </span>
    );
  return <bdi>{cell.text.length > IN_CELL ? `${cell.text.slice(0, IN_CELL)} …` : cell.text}</bdi>;
}

function RecordShown({
  catalog,
  listed,
  more,
}: { catalog: Catalog; listed: ListedRecord } & Pick<RecordListProps, 'more'>) {
  const { agent } = useStudio();
  const read = useRead((signal) => readWhole(agent, catalog, { listed, signal }), catalog.things, [
    agent,
    catalog,
    listed,
  ]);
  return (
    <ReadShown state={read}>
      {({ record, parts }) => (
        <section class="record">
          <h3>
            {catalog.columns[0] !== undefined && (
              <CellShown cell={catalog.columns[0].cell(record.fields)} />
            )}
          </h3>
          {parts.map(({ heading, node }) => (
            <div key={heading}>
              <h4>{heading}</h4>
              <JsonTree json={record.json} node={node} label={heading} />
            </div>
          ))}
          {parts.length > 0 && <h4>All of it</h4>}
          <JsonTree json={record.json} node={record.node} label="All of it" />
          {more?.(record)}
        </section>
      )}
    </ReadShown>
  );
}

type WholeRecord = { record: ListedRecord; parts: { heading: string; node: JsonNode }[] };

async function readWhole(
  agent: StudioAgent,
  { whole, parts: named = {} }: Catalog,
  { listed, signal }: { listed: ListedRecord; signal: AbortSignal },
): Promise<WholeRecord> {
  const json =
    whole === undefined ? listed.json : await agent.fetchScanned(whole(listed.fields), { signal });
  const record = whole === undefined ? listed : await readListedRecord(json, json.root, signal);
  const parts: WholeRecord['parts'] = [];
  for (const [heading, names] of Object.entries(named)) {
    let node: JsonNode | undefined = record.node;
    for (const name of names) node = await json.findChild(node, name, signal);
    if (node !== undefined) parts.push({ heading, node });
  }
  return { record, parts };
}
