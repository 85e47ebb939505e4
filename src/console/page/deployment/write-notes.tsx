import { useApp } from '../shell/app.ts';
import type { DeploymentDetail } from './deployment-detail.ts';
import { Fault } from '../shell/controls.tsx';
import { formatOrigin, hasFailed } from './revision-words.ts';

/**
 * Warns before a change: another tool takes it back, the reader may not make it, or the revision before it has failed.
 */
export function WriteNotes({
  detail,
  refused,
  makesRevision = false,
}: {
  detail: DeploymentDetail;
  refused?: string | undefined;
  /** The change is made by another revision, with the image of the newest one. */
  makesRevision?: boolean;
}) {
  const app = useApp();
  const { value: manager } = detail.manager;
  const [newest] = detail.revisions.value;
  const serving = detail.details.value?.active_revision?.id;
  const isOnTop = makesRevision && newest !== undefined && serving !== undefined;
  const stalled = isOnTop && newest.id !== serving && hasFailed(newest) ? newest : undefined;
  return (
    <>
      {manager !== undefined && app.mayWrite && (
        <p class="note">
          {manager.tool} keeps this deployment ({manager.name}). It may take back a change that is
          made here: change the repository instead.
        </p>
      )}
      {stalled !== undefined && app.mayWrite && (
        <p class="note">
          The newest revision has failed ({formatOrigin(stalled)}), and a change repeats it. To keep
          what serves, go back to the serving one first, under Revisions.
        </p>
      )}
      {!app.mayWrite && <p class="note">Your key may only read, so changes are turned off.</p>}
      <Fault text={refused} />
    </>
  );
}
