import { isClaimTarget, type BackupTarget } from '../schema/wire/backup-message.ts';
import { ClaimStore } from './claim/store.ts';
import { BackupFailed } from './s3/failure.ts';
import type { S3Keys } from './s3/sign.ts';
import { S3Store } from './s3/store.ts';

/** A place where backups lie, as objects with keys like paths. */
export type BackupStore = {
  /** Returns the text of an object. Undefined if there is none. */
  read(key: string): Promise<string | undefined>;
  /** Reads an object of so many bytes piece by piece: a reader may take its time. */
  readParts(key: string, bytes: number): AsyncGenerator<Buffer>;
  write(key: string, body: string): Promise<void>;
  /** Removes an object. One that is not there is no failure. */
  remove(key: string): Promise<void>;
  /** Returns the keys of all objects below a folder, which ends with a slash. */
  listKeys(folder: string): Promise<string[]>;
  /** Begins an object that is sent in parts. It is there only when it is completed. */
  begin(key: string): Promise<string>;
  /** Sends a part, from number 1, and returns its tag. */
  sendPart(key: string, sent: { id: string; number: number; body: Buffer }): Promise<string>;
  complete(key: string, sent: { id: string; tags: readonly string[] }): Promise<void>;
  /** Gives up an object that was begun. */
  abortUpload(key: string, id: string): Promise<void>;
  /** Returns the objects below a folder that were begun and not completed. */
  listUploads(folder: string): Promise<{ key: string; id: string }[]>;
};

/** Opens the store of a target. */
export function openBackupStore(
  target: BackupTarget,
  keys: S3Keys,
  /** The folder at which a volume claim is mounted. */
  mount: string,
  signal: AbortSignal,
  pauses?: readonly number[],
): BackupStore {
  if (isClaimTarget(target)) return new ClaimStore(target.claim, { mount, signal });
  if (keys.accessKeyId === '' || keys.secretAccessKey === '')
    throw new BackupFailed(
      'TargetMissing',
      'The Secret of the target is not there, or lacks accessKeyId or secretAccessKey.',
    );
  return new S3Store(target, keys, { signal, ...(pauses !== undefined && { pauses }) });
}
