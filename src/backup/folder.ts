import { Rejected } from '../errors.ts';
import { BACKUP_NAME } from '../schema/platform/backup/backup-spec.ts';
import type { BackupOwner, BackupTarget } from '../schema/wire/backup-message.ts';
import { buildArchivePath } from '../schema/wire/pgbackrest.ts';
import { BackupFailed } from './s3/failure.ts';
import type { BackupStore } from './store.ts';
import { parseJsonOr } from '../schema/json.ts';

/** Where the backups of a deployment lie below a target. */
export type Folder = {
  owner: string;
  catalogue: string;
  dumps: string;
  copies: string;
  archive: string;
  all: string;
};

/** Returns the folder of a deployment: `<prefix>/<tenant>/<id>/`. */
export function getBackupFolder(
  { prefix }: BackupTarget,
  { tenant, id }: { tenant: string; id: string },
): Folder {
  const all = `${prefix === '' ? '' : `${prefix}/`}${tenant}/${id}/`;
  return {
    all,
    owner: `${all}owner.json`,
    catalogue: `${all}catalogue/`,
    dumps: `${all}dumps/`,
    // The catalogue of copies, and the copies with their log.
    copies: `${all}copies/`,
    archive: buildArchivePath({ prefix }, { tenant, id }),
  };
}

/** Returns a backup's name, which becomes a part of keys at the store. Throws if it is none. */
export function requireName(name: string): string {
  if (BACKUP_NAME.test(name)) return name;
  throw new Rejected(
    `"${name}" is not the name of a backup. Names are moments in UTC, such as 20261126t020000z.`,
  );
}

/**
 * Makes sure that the folder is the deployment's own before anything is written into it or removed from it. An empty
 * one gets a file that says whose it is.
 */
export async function claimFolder(
  store: BackupStore,
  folder: Folder,
  owner: BackupOwner,
): Promise<void> {
  const found = await store.read(folder.owner);
  if (found !== undefined) return requireOwn(found, folder, owner);
  if ((await store.listKeys(folder.all)).length > 0)
    throw new BackupFailed(
      'TargetNotEmpty',
      `${folder.all} holds files, and no owner.json that says whose they are.`,
    );
  await store.write(folder.owner, `${JSON.stringify(owner)}\n`);
  // Two that found it empty at once both read the file again.
  requireOwn((await store.read(folder.owner)) ?? '', folder, owner);
}

function requireOwn(text: string, folder: Folder, owner: BackupOwner): void {
  const found = parseJsonOr(text, undefined) as Partial<BackupOwner> | undefined;
  if (
    found !== undefined &&
    found.uid === owner.uid &&
    found.tenant === owner.tenant &&
    found.id === owner.id
  )
    return;
  const whose =
    found?.uid === undefined
      ? 'says nothing that can be read'
      : `says that they are of the deployment with uid ${found.uid}`;
  throw new BackupFailed(
    'TargetNotEmpty',
    `${folder.all} holds the backups of another: its owner.json ${whose}.`,
  );
}
