import { useApp } from '../shell/app.ts';
import { ComparedRevisions } from './compared-revisions.tsx';
import type { DeploymentDetail } from './deployment-detail.ts';
import { originText } from './revision-words.ts';

/** Compares any two revisions. The address names them. */
export function Compare({ detail }: { detail: DeploymentDetail }) {
  const { router } = useApp();
  const { place } = router.located.value;
  if (place?.name !== 'compare') return null;
  const { from, to } = place.parameters;
  const { value: revisions } = detail.revisions;
  const [before, after] = [from, to].map((id) => revisions.find((revision) => revision.id === id));
  return (
    <section class="compare">
      <h2>Compare two revisions</h2>
      <div class="actions">
        <Choice label="From" detail={detail} value={from} choose={(id) => router.go('compare', { id: detail.id, from: id, to })} />
        <Choice label="To" detail={detail} value={to} choose={(id) => router.go('compare', { id: detail.id, from, to: id })} />
      </div>
      {before === undefined || after === undefined ? (
        <p class="fault">One of these revisions is not among the newest ones, or no longer there.</p>
      ) : (
        <ComparedRevisions deployment={detail.id} from={from} to={to} heads={[originText(before), originText(after)]} />
      )}
    </section>
  );
}

type ChoiceProps = { label: string; detail: DeploymentDetail; value: string; choose: (id: string) => void };

function Choice({ label, detail, value, choose }: ChoiceProps) {
  return (
    <label class="select">
      {label}
      <select value={value} onChange={({ currentTarget }) => choose(currentTarget.value)}>
        {detail.revisions.value.map((revision) => (
          <option key={revision.id} value={revision.id}>
            {revision.created_at.replace('T', ' ').replace(/\..*|Z$/, '')} · {originText(revision)} · {revision.id.slice(0, 8)}
          </option>
        ))}
      </select>
    </label>
  );
}
