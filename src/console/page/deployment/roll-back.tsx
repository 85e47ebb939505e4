import type { Revision } from '../../../schema/platform/revision.ts';
import { useApp } from '../shell/app.ts';
import { Dialog } from '../shell/dialog.tsx';
import { ComparedRevisions } from './compared-revisions.tsx';
import type { DeploymentDetail } from './deployment-detail.ts';
import { originText } from './revision-words.ts';
import { useWrite } from './write.ts';
import { WriteNotes } from './write-notes.tsx';

/** Shows how the deployment would change, and rolls it back. */
export function RollBack({ detail, target, close }: { detail: DeploymentDetail; target: Revision; close: () => void }) {
  const { calls } = useApp();
  const { run, isOff, refused } = useWrite(detail);
  const serving = detail.revisions.value.find(({ id }) => id === detail.details.value?.active_revision?.id);
  const path = `v2/deployments/${encodeURIComponent(detail.id)}/revisions/${target.id}/redeploy`;
  const rollBack = async (): Promise<void> => {
    const isMade = await run(() => calls.json(path, { method: 'POST' }), 'It is being rolled back. A new revision repeats that one.');
    if (isMade) close();
  };
  return (
    <Dialog title={`Roll back to ${originText(target)}`} close={close} wide>
      <p>A new revision repeats this one, with the secrets and sizes that it had. The revisions in between stay in the list.</p>
      {serving === undefined ? (
        <p>No revision serves now, so there is nothing to compare it with.</p>
      ) : (
        <ComparedRevisions deployment={detail.id} from={serving.id} to={target.id} heads={['Serves now', 'After the rollback']} />
      )}
      <WriteNotes detail={detail} refused={refused} />
      <div class="actions">
        <button type="button" class="main" disabled={isOff} onClick={() => void rollBack()}>
          Roll back
        </button>
        <button type="button" onClick={close}>
          Keep it as it is
        </button>
      </div>
    </Dialog>
  );
}
