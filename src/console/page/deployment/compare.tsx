import type { Revision } from '../../../schema/platform/revision.ts';
import { useApp } from '../shell/app.ts';
import { ComparedRevisions } from './compared-revisions.tsx';
import type { DeploymentDetail } from './deployment-detail.ts';
import { originText } from './revision-words.ts';
import { Select } from '../shell/controls.tsx';

/** Compares any two revisions. The address names them. */
export function Compare({ detail }: { detail: DeploymentDetail }) {
  const { router } = useApp();
  const { place } = router.located.value;
  if (place?.name !== 'compare') return null;
  const { from, to } = place.parameters;
  const { value: revisions } = detail.revisions;
  const [before, after] = [from, to].map((id) => revisions.find((revision) => revision.id === id));
  const options = revisions.map((revision) => [revision.id, nameOf(revision)] as const);
  return (
    <section class="compare">
      <h2>Compare two revisions</h2>
      <div class="actions">
        <Select label="From" options={options} value={from} choose={(id) => router.go('compare', { id: detail.id, from: id, to })} />
        <Select label="To" options={options} value={to} choose={(id) => router.go('compare', { id: detail.id, from, to: id })} />
      </div>
      {before === undefined || after === undefined ? (
        <p class="fault">One of these revisions is not among the newest ones, or no longer there.</p>
      ) : (
        <ComparedRevisions deployment={detail.id} from={from} to={to} heads={[originText(before), originText(after)]} />
      )}
    </section>
  );
}

const nameOf = (revision: Revision): string =>
  `${revision.created_at.replace('T', ' ').replace(/\..*|Z$/, '')} · ${originText(revision)} · ${revision.id.slice(0, 8)}`;
