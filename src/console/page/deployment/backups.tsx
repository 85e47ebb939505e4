import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { BackupAnswer } from '../../../schema/wire/backup-answer.ts';
import { useApp } from '../shell/app.ts';
import { Table } from '../shell/table.tsx';
import { Time } from '../shell/time.tsx';
import type { DeploymentDetail } from './deployment-detail.ts';
import { useWrite } from './write.ts';
import { WriteNotes } from './write-notes.tsx';
import { describeFailure } from '../api/failure-text.ts';
import { Button } from '../shell/controls.tsx';

const MEGABYTE = 1_000_000;

/** The newest backups of the managed database. */
export function Backups({ detail }: { detail: DeploymentDetail }) {
  const { calls } = useApp();
  const { run, isOff, refused } = useWrite(detail);
  const backups = useSignal<BackupAnswer[] | undefined>(undefined);
  const unread = useSignal<string | undefined>(undefined);
  const path = `v2/deployments/${encodeURIComponent(detail.id)}/backups`;
  const read = (): void => {
    calls.fetchJson<{ resources: BackupAnswer[] }>(path, { query: { limit: 20 } }).then(
      ({ resources }) => (backups.value = resources),
      (error: unknown) => (unread.value = describeFailure(error)),
    );
  };
  useEffect(read, [detail.details.value?.version]);
  const createBackup = async (): Promise<void> => {
    if (await run(() => calls.fetchJson(path, { method: 'POST' }), 'A backup was requested.'))
      read();
  };
  return (
    <section>
      <h2>Backups</h2>
      <WriteNotes detail={detail} refused={refused ?? unread.value} />
      <BackupTable backups={backups.value ?? []} />
      <Button disabled={isOff} label="Back up now" press={() => createBackup()} />
    </section>
  );
}

function BackupTable({ backups }: { backups: readonly BackupAnswer[] }) {
  if (backups.length === 0) return <p>No backups yet.</p>;
  const rows = backups.map(
    ({ name, status, message, until, size_bytes: size, verified_at: verified }) => ({
      key: name,
      cells: [
        name,
        `${status} ${message ?? ''}`,
        until !== null && <Time at={until} />,
        size === null ? '' : `${(size / MEGABYTE).toFixed(1)} MB`,
        verified === null ? 'not yet' : <Time at={verified} />,
      ],
    }),
  );
  return (
    <Table
      heads={['Backup', 'State', 'Complete', 'Size', 'Verified']}
      names="mono"
      sentences="State"
      rows={rows}
    />
  );
}
