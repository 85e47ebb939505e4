import { useSignal } from '@preact/signals';
import type { DeploymentDetails } from '../../../schema/platform/deployment/deployment-summary.ts';
import { useApp } from '../shell/app.ts';
import { CopyButton } from '../shell/copy-button.tsx';
import { Time } from '../shell/time.tsx';
import { Backups } from './backups.tsx';
import type { DeploymentDetail } from './deployment-detail.ts';
import { useWrite } from './write.ts';
import { WriteNotes } from './write-notes.tsx';
import { Button, TextLine } from '../shell/controls.tsx';
import { SleepAndQueue } from './sleep-settings.tsx';
import { Dialog } from '../shell/dialog.tsx';

/** How the deployment lives: hibernation, sleep, queue, and its end. */
export function Settings({ detail }: { detail: DeploymentDetail }) {
  const { calls } = useApp();
  const { run, isOff, refused } = useWrite(detail);
  const { value: details } = detail.details;
  if (details === undefined) return null;
  const { lifecycle } = details;
  const patchLifecycle = (body: object) => (): Promise<unknown> =>
    calls.fetchJson(`v2/deployments/${encodeURIComponent(detail.id)}/lifecycle`, {
      method: 'PATCH',
      body,
    });
  const saveChange = (body: object, done: string): void => {
    const before = Object.fromEntries(
      Object.entries(lifecycle).filter(([name]) => Object.hasOwn(body, name)),
    );
    const undo = (): void => void run(patchLifecycle(before), 'The change was taken back.');
    void run(patchLifecycle(body), done, undo);
  };
  return (
    <div class="settings">
      <WriteNotes detail={detail} refused={refused} />
      <section>
        <h2>Hibernation and pause</h2>
        <p>
          A hibernating deployment has no pods, and neither has its database: clients get no answer
          until you end it. The volume and the revisions stay.
        </p>
        <Button
          disabled={isOff}
          label={lifecycle.hibernate === true ? 'End hibernation' : 'Hibernate'}
          press={() =>
            saveChange(
              { hibernate: lifecycle.hibernate === true ? null : true },
              'The change of hibernation was requested.',
            )
          }
        />
        <p>
          While it is paused, the operator leaves it alone: its pods go on answering, and no change
          takes effect until you resume it.
        </p>
        <Button
          disabled={isOff}
          label={lifecycle.suspend === true ? 'Resume' : 'Pause'}
          press={() =>
            saveChange(
              { suspend: lifecycle.suspend === true ? null : true },
              'The change of the pause was requested.',
            )
          }
        />
      </section>
      <SleepAndQueue
        key={JSON.stringify(lifecycle)}
        detail={detail}
        isOff={isOff}
        change={saveChange}
      />
      <DatabaseAndBranch details={details} />
      {!details.database.external && <Backups detail={detail} />}
      <Deletion detail={detail} />
    </div>
  );
}

function DatabaseAndBranch({ details: { database, branch } }: { details: DeploymentDetails }) {
  return (
    <section>
      <h2>Database and branch</h2>
      <p>
        {database.external
          ? 'The database is your own.'
          : `The platform runs the database. Its volume has ${describeVolume(database)}.`}{' '}
        {database.certificate_until !== null && (
          <>
            Its certificate is valid until <Time at={database.certificate_until} isDate />.
          </>
        )}
      </p>
      {branch !== null && <Branch branch={branch} />}
    </section>
  );
}

const describeVolume = ({
  storage_gi: size,
  storage_class: named,
}: DeploymentDetails['database']): string =>
  `${size === null ? 'the default size of the installation' : `${size} GiB`}${named === null ? '' : `, of the class ${named}`}`;

function Branch({ branch }: { branch: NonNullable<DeploymentDetails['branch']> }) {
  const { ref, commit, pushed, push_path: path, unmatched_push: unmatched } = branch;
  return (
    <>
      <p>
        Pushes to <code>{ref}</code> make revisions. Its head was last{' '}
        <code>{commit ?? 'not seen'}</code>.
      </p>
      {pushed !== null && (
        <p>
          The last push event came <Time at={pushed.at} />, for <code>{pushed.commit}</code>.
        </p>
      )}
      {unmatched !== null && (
        <p>
          A push event of the same connection was for no deployment (<Time at={unmatched.at} />
          ): it names the repository <code>{unmatched.repository}</code> and the branch{' '}
          <code>{unmatched.branch}</code>.
        </p>
      )}
      {path !== null && (
        <p>
          {pushed === null && 'No push event has arrived yet. '}The host sends its push events to
          this path of the control plane: <code>{path}</code>{' '}
          <CopyButton text={path} label="Copy" />
        </p>
      )}
    </>
  );
}

/** Deletes the deployment, once its name was typed. */
function Deletion({ detail }: { detail: DeploymentDetail }) {
  const { mayWrite } = useApp();
  const isOpen = useSignal(false);
  return (
    <section class="end">
      <h2>Delete</h2>
      <p>
        It ends the deployment for good. You type its name first, and choose what becomes of its
        data.
      </p>
      <Button
        class="danger"
        disabled={
          !mayWrite ||
          detail.goneAt.value !== undefined ||
          detail.details.value?.state === 'deleting'
        }
        label="Delete this deployment"
        press={() => (isOpen.value = true)}
      />
      {isOpen.value && <Confirmation detail={detail} close={() => (isOpen.value = false)} />}
    </section>
  );
}

const FATES = new Map([
  ['Retain', 'The volume of its database stays (deletionPolicy is Retain).'],
  ['Delete', 'The volume of its database goes, too (deletionPolicy is Delete).'],
]);

const describeData = (policy: string | undefined): string =>
  FATES.get(policy ?? '') ??
  'It sets no deletionPolicy: the volume of its database stays, unless this installation says Delete.';

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
    if (await run(() => calls.fetchJson(path, { method: 'DELETE', query }), 'Deletion has begun.'))
      close();
  };
  return (
    <Dialog title={`Delete ${name}`} close={close}>
      <WriteNotes detail={detail} refused={refused} />
      <form class="fields" onSubmit={(event) => void remove(event)}>
        <p>Its pods, keys and revisions go. {describeData(detail.deletionPolicy.value)}</p>
        <label class="check">
          <input
            type="checkbox"
            checked={withData.value}
            onChange={({ currentTarget }) => (withData.value = currentTarget.checked)}
          />{' '}
          Delete the data in its database, too
        </label>
        <label>
          Type the name of the deployment
          <TextLine name="confirm" autocomplete="off" of={typed} />
        </label>
        <div class="actions">
          <Button class="danger" disabled={isOff || typed.value !== name} label="Delete" />
          <Button label="Cancel" press={close} />
        </div>
      </form>
    </Dialog>
  );
}
