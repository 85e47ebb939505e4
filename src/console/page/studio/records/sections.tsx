import { useMemo } from 'preact/hooks';
import { Table } from '../../shell/table.tsx';
import { textOf } from '../agent-answers.ts';
import { useStudio } from '../studio-parts.ts';
import { assistantCatalog, bytesText, cronCatalog, feedbackCatalog, runCatalog, storedParts } from './catalogs.ts';
import { ReadShown } from './read-shown.tsx';
import { RecordList } from './record-list.tsx';
import { useRead } from './use-read.ts';
import { Versions } from './versions.tsx';

/** The assistants of the agent, with their versions. */
export const Assistants = () => (
  <section>
    <h2>Assistants</h2>
    <RecordList catalog={assistantCatalog} more={({ fields }) => <Versions assistant={String(fields['assistant_id'])} />} />
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
  return <RecordList catalog={catalog} more={({ fields }) => <MoreOfRun thread={thread} run={textOf(fields['run_id'])} />} />;
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
  const { value: address } = useRead((signal) => agent.traceOf(thread, run, signal), 'traces', [agent, thread, run]);
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
  const catalog = useMemo(() => feedbackCatalog(thread, run), [thread, run]);
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
  const read = useRead((signal) => agent.scanned(path, { signal }), 'the size of threads', [agent, path]);
  return (
    <ReadShown state={read}>
      {(json) => {
        const parts = storedParts(json.small(json.root));
        return (
          <>
            <p>It takes {bytesText(parts.reduce((sum, { bytes }) => sum + bytes, 0))} in the database.</p>
            <Table heads={['Part', 'Rows', 'Size']}>
              {parts.map(({ name, count, bytes }) => (
                <tr key={name}>
                  <th scope="row">
                    <bdi>{name}</bdi>
                  </th>
                  <td>{count}</td>
                  <td>{bytesText(bytes)}</td>
                </tr>
              ))}
            </Table>
          </>
        );
      }}
    </ReadShown>
  );
}
