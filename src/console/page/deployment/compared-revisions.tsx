import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { RevisionDetails } from '../../../schema/platform/revision.ts';
import { useApp } from '../shell/app.ts';
import { DifferencesShown } from './differences-shown.tsx';
import { comparedFields } from './revision-words.ts';
import { failureText } from '../api/failure-text.ts';

type ComparedProps = { deployment: string; from: string; to: string; heads: [before: string, after: string] };

/** The fields in which two revisions differ. Of secrets it shows that they do, and never a value. */
export function ComparedRevisions({ deployment, from, to, heads }: ComparedProps) {
  const { calls } = useApp();
  const both = useSignal<[RevisionDetails, RevisionDetails] | undefined>(undefined);
  const refused = useSignal<string | undefined>(undefined);
  useEffect(() => {
    const read = (id: string): Promise<RevisionDetails> =>
      calls.json(`v2/deployments/${encodeURIComponent(deployment)}/revisions/${encodeURIComponent(id)}`, { query: { view: 'full' } });
    Promise.all([read(from), read(to)]).then(
      (found) => (both.value = found),
      (error: unknown) => (refused.value = failureText(error)),
    );
  }, [deployment, from, to]);
  if (refused.value !== undefined)
    return (
      <p class="fault" role="alert">
        {refused.value}
      </p>
    );
  if (both.value === undefined) return <p aria-busy="true" />;
  const [before, after] = both.value.map(withSizesAndSecrets);
  return <DifferencesShown before={before ?? {}} after={after ?? {}} heads={heads} />;
}

const withSizesAndSecrets = (revision: RevisionDetails): object => ({
  ...comparedFields(revision),
  resource_spec: revision.resource_spec,
  secrets: Object.fromEntries(revision.secrets.map(({ name, digest }) => [name, digest === null ? 'set' : `value ${digest.slice(0, 6)}`])),
});
