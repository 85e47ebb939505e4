import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { describeFailure } from '../api/failure-text.ts';
import { useApp } from '../shell/app.ts';
import { Button, Fault, Select, Skeleton } from '../shell/controls.tsx';
import { saveFile } from '../shell/save-file.ts';
import { AgentUsageReader, type AgentUsage } from './agent-usage.ts';
import { listUnreportedModels, fillDays, sumRows, takeTop } from './usage-rows.ts';
import { NoUsage, UsageTotals, UsageNotes, UsageTable } from './usage-tables.tsx';

const PERIODS = [
  ['7', '7 days'],
  ['30', '30 days'],
  ['90', '90 days'],
] as const;
const TOP = 10;

type Props = { id: string; name: string; isAsleep: boolean };

/** The usage of a deployment's models, as its agents have recorded it. One that sleeps is not woken by looking. */
export function DeploymentUsage({ id, name, isAsleep }: Props) {
  const { calls } = useApp();
  const days = useSignal('30');
  const found = useSignal<AgentUsage | undefined>(undefined);
  const refused = useSignal<string | undefined>(undefined);
  const today = new Date().toISOString().slice(0, 10);
  const reader = useMemo(
    () =>
      new AgentUsageReader((path, asked) =>
        calls.open(`api/agents/${encodeURIComponent(id)}/${path}`, asked),
      ),
    [id],
  );
  useEffect(() => {
    if (isAsleep) return undefined;
    const leaving = new AbortController();
    const { signal } = leaving;
    const read = async (): Promise<void> => {
      try {
        found.value = await reader.read(today, Number(days.value), signal);
        refused.value = undefined;
      } catch (error) {
        if (!signal.aborted) refused.value = describeFailure(error);
      }
    };
    void read();
    return () => leaving.abort();
  }, [reader, days.value, isAsleep]);
  const save = async (): Promise<void> => {
    try {
      const text = await reader.readFile(today, Number(days.value), AbortSignal.timeout(60_000));
      saveFile([text], { name: `${name}-usage-${today}.csv`, type: 'text/csv' });
    } catch (error) {
      refused.value = describeFailure(error);
    }
  };
  if (isAsleep)
    return (
      <p class="note">
        The deployment sleeps, so its usage can't be shown. Opening this page does not wake it.
      </p>
    );
  return (
    <>
      <div class="heading">
        <Select
          label="Time"
          options={PERIODS}
          value={days.value}
          choose={(value) => (days.value = value)}
        />
        <Button label="Save as CSV" press={save} disabled={found.value === undefined} />
      </div>
      <Fault text={refused.value} />
      {found.value === undefined
        ? refused.value === undefined && <Skeleton lines={8} />
        : renderUsage(found.value, today, Number(days.value))}
    </>
  );
}

function renderUsage(
  { day, assistant, user, model, names }: AgentUsage,
  today: string,
  days: number,
) {
  const sums = sumRows(day);
  if (sums.calls === 0) return <NoUsage />;
  return (
    <>
      <UsageTotals sums={sums} />
      <UsageNotes sums={sums} sentences={listUnreportedModels(model)} />
      <section>
        <h2>Models</h2>
        <UsageTable head="Model" rows={takeTop(model, TOP)} name={nameOr('no name')} />
      </section>
      <section>
        <h2>Assistants</h2>
        <UsageTable
          head="Assistant"
          rows={takeTop(assistant, TOP)}
          name={(row) => names.get(row.group) ?? nameOr('deleted')(row)}
        />
      </section>
      <section>
        <h2>Users</h2>
        <UsageTable head="User" rows={takeTop(user, TOP)} name={nameOr('no name')} />
      </section>
      <section>
        <h2>Days, of UTC</h2>
        <UsageTable head="Day" rows={fillDays(day, today, days)} />
      </section>
    </>
  );
}

const nameOr =
  (word: string) =>
  ({ group }: { group: string }) =>
    group === '' ? <span class="quiet">{word}</span> : group;
