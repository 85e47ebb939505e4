import { useMemo } from 'preact/hooks';
import { Table } from '../../shell/table.tsx';
import { toText } from '../agent-answers.ts';
import { useStudio } from '../studio-parts.ts';
import {
  assistantCatalog,
  cronCatalog,
  buildFeedbackCatalog,
  runCatalog,
  listStoredParts,
  buildVersionCatalog,
  type Catalog,
} from './catalogs.ts';
import { formatBytes } from '../byte-text.ts';
import { ReadShown } from './read-shown.tsx';
import { RecordList } from './record-list.tsx';
import { useRead } from './use-read.ts';
import { useSignal } from '@preact/signals';
import { ChangesShown, type JsonChanges } from '../json/changes-shown.tsx';
import { listJsonDifferences } from '../json/json-difference.ts';
import type { ListedRecord } from './listed-record.ts';
import { readRecords } from './read-records.ts';
import { Select } from '../../shell/controls.tsx';

/** The assistants of the agent, with their versions. */
export const Assistants = () => (
  <section>
    <h2>Assistants</h2>
    <RecordList
      catalog={assistantCatalog}
      more={({ fields }) => <Versions assistant={String(fields['assistant_id'])} />}
    />
  </section>
);

/** The crons of the agent. */
export const Crons = () => (
  <section>
    <h2>Crons</h2>
    <RecordList catalog={cronCatalog} />
  </section>
);

/** The runs of a thread, each with the config and the context that it really used, and with opinions about it. */
export function Runs({ thread }: { thread: string }) {
  const catalog = useMemo(() => runCatalog(thread), [thread]);
  return (
    <RecordList
      catalog={catalog}
      more={({ fields }) => <MoreOfRun thread={thread} run={toText(fields['run_id'])} />}
    />
  );
}

function MoreOfRun({ thread, run }: { thread: string; run: string }) {
  return (
    <>
      <TraceOfRun thread={thread} run={run} />
      <FeedbackOfRun thread={thread} run={run} />
    </>
  );
}

/** A link to the trace of a run, where the agent says where traces are seen. */
function TraceOfRun({ thread, run }: { thread: string; run: string }) {
  const { agent } = useStudio();
  const { value: address } = useRead((signal) => agent.findTrace(thread, run, signal), 'traces', [
    agent,
    thread,
    run,
  ]);
  if (address === undefined) return null;
  return (
    <p>
      <a href={address} target="_blank" rel="noopener noreferrer">
        Its trace at {new URL(address).host}
      </a>
    </p>
  );
}

function FeedbackOfRun({ thread, run }: { thread: string; run: string }) {
  const catalog = useMemo(() => buildFeedbackCatalog(thread, run), [thread, run]);
  return (
    <>
      <h4>Feedback</h4>
      <RecordList catalog={catalog} />
    </>
  );
}

/** The room that a thread takes in the database. */
export function StorageOfThread({ thread }: { thread: string }) {
  const { agent } = useStudio();
  const path = `threads/${encodeURIComponent(thread)}/storage`;
  const read = useRead((signal) => agent.fetchScanned(path, { signal }), 'the size of threads', [
    agent,
    path,
  ]);
  return (
    <ReadShown state={read}>
      {(json) => {
        const parts = listStoredParts(json.parseSmall(json.root));
        return (
          <>
            <p>
              It takes {formatBytes(parts.reduce((sum, { bytes }) => sum + bytes, 0))} in the
              database.
            </p>
            <Table
              heads={['Part', 'Rows', 'Size']}
              rows={parts.map(({ name, count, bytes }) => ({
                key: name,
                cells: [<bdi>{name}</bdi>, count, formatBytes(bytes)],
              }))}
            />
          </>
        );
      }}
    </ReadShown>
  );
}

/** Fields that no two versions share. */
const OWN = ['version', 'created_at', 'updated_at'];

const getName = ({ fields }: ListedRecord): string => String(fields['version']);

function Versions({ assistant }: { assistant: string }) {
  const catalog = useMemo(() => buildVersionCatalog(assistant), [assistant]);
  return (
    <>
      <h4>Versions</h4>
      <RecordList
        catalog={catalog}
        more={(version) => (
          <OtherVersions key={getName(version)} catalog={catalog} version={version} />
        )}
      />
    </>
  );
}

function OtherVersions({ catalog, version }: { catalog: Catalog; version: ListedRecord }) {
  const { agent } = useStudio();
  const read = useRead(
    (signal) => readRecords(agent, catalog, { from: 0, signal }),
    catalog.things,
    [agent, catalog],
  );
  return (
    <ReadShown state={read}>
      {({ records }) => (
        <Beside
          version={version}
          others={records.filter((one) => getName(one) !== getName(version))}
        />
      )}
    </ReadShown>
  );
}

/** A version beside another one, which is the one before it until the reader chooses. */
function Beside({ version, others }: { version: ListedRecord; others: readonly ListedRecord[] }) {
  const chosen = useSignal<string | undefined>(undefined);
  const usual = others.find((one) => Number(getName(one)) < Number(getName(version))) ?? others[0];
  const other = others.find((one) => getName(one) === chosen.value) ?? usual;
  const read = useRead((signal) => findChanges(other, version, signal), 'versions', [
    other?.node.start,
    version,
  ]);
  if (other === undefined) return null;
  return (
    <>
      <Select
        label="Compare with version"
        name="version"
        value={getName(other)}
        options={others.map(getName)}
        choose={(name) => (chosen.value = name)}
      />
      <ReadShown state={read}>
        {(changes) => (
          <ChangesShown changes={changes} nothing="These two versions do not differ." />
        )}
      </ReadShown>
    </>
  );
}

async function findChanges(
  before: ListedRecord | undefined,
  after: ListedRecord,
  signal: AbortSignal,
): Promise<JsonChanges> {
  const found = before === undefined ? [] : await listJsonDifferences(before, after, signal);
  return {
    before: (before ?? after).json,
    after: after.json,
    found: found.filter(({ path }) => !OWN.includes(path)),
  };
}
