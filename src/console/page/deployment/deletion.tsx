import { useSignal } from '@preact/signals';
import { useApp } from '../shell/app.ts';
import { Dialog } from '../shell/dialog.tsx';
import type { DeploymentDetail } from './deployment-detail.ts';
import { useWrite } from './write.ts';
import { WriteNotes } from './write-notes.tsx';
import { Button, TextLine } from '../shell/controls.tsx';

/** Deletes the deployment, once its name was typed. */
export function Deletion({ detail }: { detail: DeploymentDetail }) {
  const { mayWrite } = useApp();
  const isOpen = useSignal(false);
  return (
    <section>
      <h2>Delete</h2>
      <Button
        class="danger"
        disabled={!mayWrite || detail.goneAt.value !== undefined || detail.details.value?.state === 'deleting'}
        label="Delete this deployment"
        press={() => (isOpen.value = true)}
      />
      {isOpen.value && <Confirmation detail={detail} close={() => (isOpen.value = false)} />}
    </section>
  );
}

function Confirmation({ detail, close }: { detail: DeploymentDetail; close: () => void }) {
  const { calls } = useApp();
  const { run, isOff, refused } = useWrite(detail);
  const name = detail.details.value?.name ?? '';
  const typed = useSignal('');
  const withData = useSignal(false);
  const remove = async (event: Event): Promise<void> => {
    event.preventDefault();
    const query = withData.value ? { delete_data: true } : {};
    const path = `v2/deployments/${encodeURIComponent(detail.id)}`;
    if (await run(() => calls.json(path, { method: 'DELETE', query }), 'Deletion has begun.')) close();
  };
  return (
    <Dialog title={`Delete ${name}`} close={close}>
      <WriteNotes detail={detail} refused={refused} />
      <form class="fields" onSubmit={(event) => void remove(event)}>
        <p>Its pods, keys and revisions go. The volume of its database stays or goes as its deletion policy says.</p>
        <label class="check">
          <input type="checkbox" checked={withData.value} onChange={({ currentTarget }) => (withData.value = currentTarget.checked)} />{' '}
          Delete the data in its database, too
        </label>
        <label>
          Type the name of the deployment
          <TextLine name="confirm" autocomplete="off" of={typed} />
        </label>
        <Button class="danger" disabled={isOff || typed.value !== name} label="Delete" />
      </form>
    </Dialog>
  );
}
