import { useSignal, type Signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { Deployment } from '../../../schema/platform/deployment/deployment.ts';
import { useApp } from '../shell/app.ts';
import { CopyButton } from '../shell/copy-button.tsx';
import type { DeploymentDetail } from './deployment-detail.ts';
import { listDifferingNames, readDotEnv, type DotEnvReading } from './dot-env.ts';
import { useWrite } from './write.ts';
import { WriteNotes } from './write-notes.tsx';
import { describeFailure } from '../api/failure-text.ts';
import { Button, Select, Skeleton, TextArea } from '../shell/controls.tsx';
import { Dialog } from '../shell/dialog.tsx';
import { Table } from '../shell/table.tsx';
import { Time } from '../shell/time.tsx';

type SecretOf = Deployment['secrets'][number];

/** A value that was asked for is hidden again after half a minute. */
const SHOWN_FOR = 30_000;

/** The secrets of the newest revision: names, and values for those who ask. */
export function Secrets({ detail }: { detail: DeploymentDetail }) {
  const { calls } = useApp();
  const { run, isOff, refused } = useWrite(detail);
  const names = useSignal<string[] | undefined>(undefined);
  const path = `v2/deployments/${encodeURIComponent(detail.id)}`;
  const read = async (): Promise<{ secrets: SecretOf[]; etag: string | undefined }> => {
    const { body, etag } = await calls.fetchVersioned<Deployment>(path);
    names.value = body.secrets.map(({ name }) => name).sort();
    return { secrets: body.secrets, etag };
  };
  useEffect(() => void read().catch(() => undefined), [detail.details.value?.version]);
  /** The API takes the whole list, so the change is made of the list that is there, of its version. */
  const saveChange = (make: (secrets: SecretOf[]) => SecretOf[], done: string): Promise<boolean> =>
    run(async () => {
      const { secrets, etag } = await read();
      const headers: Record<string, string> = etag === undefined ? {} : { 'if-match': etag };
      await calls.fetchJson(path, { method: 'PATCH', body: { secrets: make(secrets) }, headers });
    }, done);
  return (
    <>
      <WriteNotes detail={detail} refused={refused} makesRevision />
      <section>
        <h2>Secrets</h2>
        <p>They are environment variables of the agents. A change makes a new revision.</p>
        {names.value === undefined && <Skeleton lines={2} />}
        {names.value?.length === 0 && (
          <p class="quiet">No secrets yet. Paste the first ones below.</p>
        )}
        <Names
          names={names.value ?? []}
          isOff={isOff}
          read={async () => (await read()).secrets}
          remove={(name) =>
            void saveChange(
              (all) => all.filter((one) => one.name !== name),
              `${name} is removed by a new revision.`,
            )
          }
        />
        <Paste
          names={names}
          isOff={isOff}
          save={(added) =>
            saveChange((all) => mergeSecrets(all, added), 'Saved. A new revision rolls out.')
          }
        />
      </section>
      <AgentKeyShown detail={detail} />
    </>
  );
}

const mergeSecrets = (all: readonly SecretOf[], added: readonly SecretOf[]): SecretOf[] => [
  ...new Map([...all, ...added].map((one) => [one.name, one])).values(),
];

type NamesProps = {
  names: readonly string[];
  isOff: boolean;
  read: () => Promise<SecretOf[]>;
  remove: (name: string) => void;
};

function Names({ names, isOff, read, remove }: NamesProps) {
  const leaving = useSignal<string | undefined>(undefined);
  const rows = names.map((name) => ({
    key: name,
    cells: [
      name,
      <Value name={name} isOff={isOff} read={read} />,
      <Button
        disabled={isOff}
        aria-label={`Remove ${name}`}
        label="Remove"
        press={() => (leaving.value = name)}
      />,
    ],
  }));
  return (
    <>
      <Table heads={['Name', 'Value', 'Change']} names="mono" sentences="Value" rows={rows} />
      {leaving.value !== undefined && (
        <Removal name={leaving.value} remove={remove} close={() => (leaving.value = undefined)} />
      )}
    </>
  );
}

/** Asks before a secret goes: its value is nowhere else on the page. */
function Removal({
  name,
  remove,
  close,
}: {
  name: string;
  remove: (name: string) => void;
  close: () => void;
}) {
  const act = (): void => {
    remove(name);
    close();
  };
  return (
    <Dialog title={`Remove ${name}`} close={close}>
      <p>
        A new revision rolls out without it. Its value is deleted: to undo this, you need the value
        from elsewhere.
      </p>
      <div class="actions">
        <Button class="danger" label="Remove it" press={act} />
        <Button label="Cancel" press={close} />
      </div>
    </Dialog>
  );
}

function Value({
  name,
  isOff,
  read,
}: {
  name: string;
  isOff: boolean;
  read: () => Promise<SecretOf[]>;
}) {
  const app = useApp();
  const value = useSignal<string | undefined>(undefined);
  useEffect(() => {
    if (value.value === undefined) return undefined;
    const timer = setTimeout(() => (value.value = undefined), SHOWN_FOR);
    return () => clearTimeout(timer);
  }, [value.value]);
  const show = (): void =>
    void read().then(
      (secrets) => (value.value = secrets.find((one) => one.name === name)?.value ?? ''),
      (error: unknown) => app.announce(describeFailure(error)),
    );
  if (value.value === undefined)
    return <Button disabled={isOff} aria-label={`Show ${name}`} label="Show" press={show} />;
  return (
    <>
      <code>{value.value}</code> <CopyButton text={value.value} label="Copy" />{' '}
      <Button label="Hide" press={() => (value.value = undefined)} />
    </>
  );
}

function Paste({
  names,
  isOff,
  save,
}: {
  names: Signal<string[] | undefined>;
  isOff: boolean;
  save: (added: SecretOf[]) => Promise<boolean>;
}) {
  const text = useSignal('');
  const reading = useSignal<DotEnvReading | undefined>(undefined);
  const differing = listDifferingNames(text.value);
  const { variables, faults } = readDotEnv(text.value, reading.value ?? 'python');
  const isOpen = differing.length > 0 && reading.value === undefined;
  const isKnown = (name: string): boolean => names.value?.includes(name) === true;
  const added = variables.filter(({ name }) => !isKnown(name)).map(({ name }) => name);
  const changed = variables.filter(({ name }) => isKnown(name)).map(({ name }) => name);
  const send = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (!(await save(variables))) return;
    text.value = '';
    reading.value = undefined;
  };
  return (
    <form class="fields" onSubmit={(event) => void send(event)}>
      <label>
        Add or change: lines of a .env file
        <TextArea
          name="dotenv"
          rows={5}
          class="mono"
          autocomplete="off"
          spellcheck={false}
          of={text}
        />
      </label>
      {differing.length > 0 && (
        <Select
          label={`Python and JavaScript read ${differing.join(', ')} differently. Read as`}
          options={[
            ['', 'choose'],
            ['python', 'Python (python-dotenv)'],
            ['javascript', 'JavaScript (dotenv)'],
          ]}
          value={reading.value ?? ''}
          choose={(value) => (reading.value = value === '' ? undefined : (value as DotEnvReading))}
        />
      )}
      {faults.length > 0 && <p class="fault">{faults.slice(0, 5).join(' ')}</p>}
      {variables.length > 0 && (
        <p>
          {added.length > 0 && `New: ${added.join(', ')}. `}
          {changed.length > 0 && `Replaced: ${changed.join(', ')}.`}
        </p>
      )}
      <Button
        disabled={isOff || isOpen || variables.length === 0 || faults.length > 0}
        label="Save the secrets"
      />
    </form>
  );
}

/** The answer's field that is shown. The type of the whole answer stands in a file for servers. */
type AgentKey = { api_key: string };

/** The key that opens the agents, for those who ask, and its rotation. */
function AgentKeyShown({ detail }: { detail: DeploymentDetail }) {
  const { calls } = useApp();
  const { run, isOff, refused } = useWrite(detail);
  const shown = useSignal<AgentKey | undefined>(undefined);
  const path = `v2/deployments/${encodeURIComponent(detail.id)}/key`;
  const until = detail.details.value?.key.previous_until ?? null;
  const show = (): Promise<boolean> =>
    run(async () => (shown.value = await calls.fetchJson<AgentKey>(path)), 'The key is shown.');
  const rotate = (): Promise<boolean> => {
    shown.value = undefined;
    return run(
      () => calls.fetchJson(`${path}/rotate`, { method: 'POST' }),
      'A new key was made. Pods accept it within two minutes.',
    );
  };
  return (
    <section>
      <h2>API key of the agents</h2>
      <p>
        Clients send it in <code>X-Api-Key</code>. After a rotation the previous one stays valid for
        a while, so that clients can follow.
      </p>
      {refused !== undefined && <WriteNotes detail={detail} refused={refused} />}
      {until !== null && (
        <p class="note">
          The previous key is valid until <Time at={until} isDate />.
        </p>
      )}
      {shown.value !== undefined && (
        <p>
          <code>{shown.value.api_key}</code>{' '}
          <CopyButton text={shown.value.api_key} label="Copy the key" />
        </p>
      )}
      <div class="actions">
        <Button
          disabled={isOff}
          label={shown.value === undefined ? 'Show the key' : 'Hide the key'}
          press={() => (shown.value === undefined ? void show() : (shown.value = undefined))}
        />
        <Button disabled={isOff} label="Rotate the key" press={() => rotate()} />
      </div>
    </section>
  );
}
