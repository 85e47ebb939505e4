import { useSignal } from '@preact/signals';
import { Button, Select, TextLine } from '../shell/controls.tsx';
import { Table } from '../shell/table.tsx';
import type { DeploymentDetail } from './deployment-detail.ts';

const DEFAULT = 'default of the installation';
const BY_PLATFORM = 'as many as the platform decides';
const YES_OR_NO = [
  ['', 'Default of the installation'],
  ['yes', 'Yes'],
  ['no', 'No'],
] as const;

/** The fields of the form as texts. An empty one leaves the decision to others. */
type SleepFields = { seconds: string; database: string; replicas: string };

type SettingsProps = {
  detail: DeploymentDetail;
  isOff: boolean;
  change: (body: object, done: string) => void;
};

/** When the deployment sleeps, and how many pods its queue has. Changes are listed before they are saved. */
export function SleepAndQueue({ detail, isOff, change }: SettingsProps) {
  const now = readFields(detail);
  const [seconds, database, replicas] = [
    useSignal(now.seconds),
    useSignal(now.database),
    useSignal(now.replicas),
  ];
  const then = { seconds: seconds.value, database: database.value, replicas: replicas.value };
  const changes = listChanges(now, then);
  const undo = (): void => {
    seconds.value = now.seconds;
    database.value = now.database;
    replicas.value = now.replicas;
  };
  const save = (event: Event): void => {
    event.preventDefault();
    if (changes.length > 0)
      change(buildLifecycle(then), 'The settings of sleep and queue were changed.');
  };
  return (
    <section>
      <h2>Sleep and queue</h2>
      <p>
        A deployment without work can stop its pods. The next request wakes it, and waits some
        seconds for its answer.
      </p>
      <form class="fields" onSubmit={save}>
        <label>
          Idle seconds before it sleeps (empty: the default of this installation)
          <TextLine type="number" min={5} of={seconds} />
        </label>
        <Select
          label="Stop its database while it sleeps"
          value={database.value}
          options={YES_OR_NO}
          choose={(value) => (database.value = value)}
        />
        <label>
          Queue pods (empty: the platform decides)
          <TextLine type="number" min={0} max={1000} of={replicas} />
        </label>
        {changes.length > 0 && (
          <Table class="pending" heads={['Setting', 'Now', 'When saved']} rows={changes} />
        )}
        <div class="actions">
          <Button class="main" disabled={isOff || changes.length === 0} label="Save" />
          {changes.length > 0 && <Button label="Undo" press={undo} />}
        </div>
      </form>
    </section>
  );
}

function readFields(detail: DeploymentDetail): SleepFields {
  const { sleep, queue_replicas: replicas } = detail.details.peek()?.lifecycle ?? {};
  const stops = sleep?.database ?? null;
  return {
    seconds: String(sleep?.after_seconds ?? ''),
    database: stops === null ? '' : stops ? 'yes' : 'no',
    replicas: String(replicas ?? ''),
  };
}

/** Returns the settings that differ, with their words before and after. */
function listChanges(now: SleepFields, then: SleepFields) {
  const nameChoice = (value: string): string => (value === '' ? DEFAULT : value);
  const rows = [
    { name: 'Idle seconds', before: nameChoice(now.seconds), after: nameChoice(then.seconds) },
    {
      name: 'Stop its database',
      before: nameChoice(now.database),
      after: nameChoice(then.database),
    },
    {
      name: 'Queue pods',
      before: now.replicas || BY_PLATFORM,
      after: then.replicas || BY_PLATFORM,
    },
  ];
  return rows
    .filter(({ before, after }) => before !== after)
    .map(({ name, before, after }) => ({ key: name, cells: [name, before, <b>{after}</b>] }));
}

const parseNumber = (text: string): number | null => (text.trim() === '' ? null : Number(text));

function buildLifecycle({ seconds, database, replicas }: SleepFields): object {
  const sleep = {
    after_seconds: parseNumber(seconds),
    database: database === '' ? null : database === 'yes',
  };
  const isUsual = sleep.after_seconds === null && sleep.database === null;
  return { sleep: isUsual ? null : sleep, queue_replicas: parseNumber(replicas) };
}
