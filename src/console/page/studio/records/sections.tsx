import { useMemo } from 'preact/hooks';
import { Table } from '../../shell/table.tsx';
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
  return <RecordList catalog={catalog} more={({ fields }) => <FeedbackOfRun thread={thread} run={String(fields['run_id'])} />} />;
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
