import { createBackup } from '../../src/backup/run.ts';
import type { BackupJobConfig } from '../../src/config/jobs/backup-job.ts';
import type {
  BackupDone,
  BackupOrder,
  BackupTarget,
} from '../../src/schema/wire/backup-message.ts';
import { S3_KEYS } from '../kit/s3-server.ts';
import { dumpInto, forgetDump } from './dump-double.ts';

/* Backups that a test orders at one place, with the stand-in for pg_dump. */

const TENANT = '00000000-0000-4000-8000-000000000000';

/** The target, the folder at which a claim is mounted, and that of the pipe. */
type Place = { target: BackupTarget; mount: string; pipe: string };
type Dumped = { status?: string; words?: string };

/** Returns what orders backups, and carries them out, at the place of the moment. */
export function backupsAt(place: () => Place) {
  let next = 0;
  /** Returns an owner whose folder nobody has used. */
  const someone = () => ({
    tenant: TENANT,
    id: `00000000-0000-4000-8000-${String((next += 1)).padStart(12, '0')}`,
    uid: `uid-${next}`,
  });
  const order = (given: Partial<BackupOrder> = {}): BackupOrder => ({
    name: '20261126t020000z',
    target: place().target,
    owner: someone(),
    keep: { count: 7 },
    holds: { deployment: { kind: 'Deployment' } },
    ...given,
  });
  const configFor = (given: BackupOrder, more: Partial<BackupJobConfig> = {}): BackupJobConfig => ({
    order: given,
    keys: S3_KEYS,
    mount: place().mount,
    pipe: place().pipe,
    copier: '/none',
    terminationLog: '/dev/null',
    pauses: [10, 20, 50],
    ...more,
  });
  const dumps = (bytes: Buffer, given?: Dumped): Promise<void> =>
    dumpInto(place().pipe, bytes, given);
  async function run(
    given: BackupOrder,
    bytes = Buffer.from('a dump'),
    more: Partial<BackupJobConfig> = {},
  ): Promise<BackupDone> {
    const [done] = await Promise.all([
      createBackup(configFor(given, more), new AbortController().signal),
      dumps(bytes),
    ]);
    await forgetDump(place().pipe);
    return done;
  }
  const folderOf = ({ owner }: BackupOrder): string => `gx/${owner.tenant}/${owner.id}`;
  return { order, configFor, dumps, run, folderOf };
}
