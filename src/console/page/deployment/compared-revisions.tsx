import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { RevisionDetails } from '../../../schema/platform/deployment/revision.ts';
import { useApp } from '../shell/app.ts';
import { pickComparedFields } from './revision-words.ts';
import { describeFailure } from '../api/failure-text.ts';
import { listDifferences } from './differences.ts';
import { Fault, Skeleton } from '../shell/controls.tsx';
import { Table } from '../shell/table.tsx';

/** The fields in which two revisions differ. Of secrets it shows that they do, and never a value. */
export function ComparedRevisions({
  deployment,
  from,
  to,
  heads,
}: {
  deployment: string;
  from: string;
  to: string;
  heads: [before: string, after: string];
}) {
  const { calls } = useApp();
  const both = useSignal<[RevisionDetails, RevisionDetails] | undefined>(undefined);
  const refused = useSignal<string | undefined>(undefined);
  useEffect(() => {
    const read = (id: string): Promise<RevisionDetails> =>
      calls.fetchJson(
        `v2/deployments/${encodeURIComponent(deployment)}/revisions/${encodeURIComponent(id)}`,
        { query: { view: 'full' } },
      );
    Promise.all([read(from), read(to)]).then(
      (found) => (both.value = found),
      (error: unknown) => (refused.value = describeFailure(error)),
    );
  }, [deployment, from, to]);
  if (refused.value !== undefined) return <Fault text={refused.value} />;
  if (both.value === undefined) return <Skeleton />;
  const [before, after] = both.value.map(pickAllFields);
  return <DifferencesShown before={before ?? {}} after={after ?? {}} heads={heads} />;
}

const pickAllFields = (revision: RevisionDetails): object => ({
  ...pickComparedFields(revision),
  resource_spec: revision.resource_spec,
  secrets: Object.fromEntries(
    revision.secrets.map(({ name, digest }) => [
      name,
      digest === null ? 'set' : `value ${digest.slice(0, 6)}`,
    ]),
  ),
});

/** The fields in which two values differ, side by side. */
function DifferencesShown({
  before,
  after,
  heads,
}: {
  before: object;
  after: object;
  heads: [before: string, after: string];
}) {
  const found = listDifferences(before, after);
  if (found.length === 0) return <p>Image, configuration, sizes and secrets are the same.</p>;
  return (
    <Table class="differences" heads={['Field', ...heads]}>
      {found.map(({ path, before: one, after: other }) => (
        <tr key={path}>
          <th scope="row" class="mono">
            {path}
          </th>
          <td class="mono removed">{one ?? <span class="quiet">not set</span>}</td>
          <td class="mono added">{other ?? <span class="quiet">not set</span>}</td>
        </tr>
      ))}
    </Table>
  );
}
