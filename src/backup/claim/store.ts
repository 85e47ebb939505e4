import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { toError } from '../../errors.ts';
import { BackupFailed } from '../s3/failure.ts';

/** Ends the names of files that are not complete, before the id of the write. */
const BEGUN = '.begun-';
/** Bytes that are read at once. */
const PIECE = 1_048_576;
/** Errors of a volume that is full, of one that answers no more, and of one that can't be written. */
const FULL = ['ENOSPC', 'EDQUOT', 'EFBIG'];
const AWAY = ['EIO', 'ESTALE', 'ETIMEDOUT', 'ENXIO', 'ENODEV', 'EHOSTDOWN', 'ENOTCONN'];

const getErrorCode = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? '';

/** A volume claim whose files are the objects. A file is complete once it has its name, and is on the disk by then. */
export class ClaimStore {
  readonly #claim: string;
  readonly #mount: string;
  readonly #signal: AbortSignal;

  constructor(claim: string, { mount, signal }: { mount: string; signal: AbortSignal }) {
    this.#claim = claim;
    this.#mount = mount;
    this.#signal = signal;
  }

  async read(key: string): Promise<string | undefined> {
    return this.#runFileAction(`a read of ${key}`, () =>
      acceptMissing(readFile(this.#resolvePath(key), 'utf8')),
    );
  }

  async *readParts(key: string, bytes: number): AsyncGenerator<Buffer> {
    const what = `a read of ${key}`;
    const file = await this.#runFileAction(what, () =>
      open(this.#resolvePath(key), constants.O_RDONLY),
    );
    try {
      for (let from = 0; from < bytes;) {
        const piece = Buffer.alloc(Math.min(PIECE, bytes - from));
        const { bytesRead } = await this.#runFileAction(what, () =>
          file.read(piece, 0, piece.length, from),
        );
        // The reader compares checksums, so that a file which is too short is no backup.
        if (bytesRead === 0) return;
        from += bytesRead;
        yield piece.subarray(0, bytesRead);
      }
    } finally {
      await file.close();
    }
  }

  async write(key: string, body: string): Promise<void> {
    const id = await this.begin(key);
    try {
      await this.sendPart(key, { id, body: Buffer.from(body) });
      await this.complete(key, { id });
    } catch (error) {
      await this.abortUpload(key, id).catch(() => undefined);
      throw error;
    }
  }

  async remove(key: string): Promise<void> {
    await this.#runFileAction(`the removal of ${key}`, () =>
      rm(this.#resolvePath(key), { force: true }),
    );
  }

  async listKeys(folder: string): Promise<string[]> {
    return (await this.#listFiles(folder)).filter((key) => !key.includes(BEGUN));
  }

  async begin(key: string): Promise<string> {
    const id = randomUUID();
    await this.#runFileAction(`the beginning of ${key}`, async () => {
      await mkdir(dirname(this.#resolvePath(key)), { recursive: true });
      await (await open(this.#buildUploadPath(key, id), 'wx')).close();
    });
    return id;
  }

  async sendPart(key: string, { id, body }: { id: string; body: Buffer }): Promise<string> {
    await this.#runFileAction(`a write of ${key}`, async () => {
      const file = await open(this.#buildUploadPath(key, id), 'a');
      try {
        await file.appendFile(body);
        // A full disk may tell only now.
        await file.sync();
      } finally {
        await file.close();
      }
    });
    return '';
  }

  async complete(key: string, { id }: { id: string }): Promise<void> {
    await this.#runFileAction(`the completion of ${key}`, async () => {
      await rename(this.#buildUploadPath(key, id), this.#resolvePath(key));
      const folder = await open(dirname(this.#resolvePath(key)), constants.O_RDONLY);
      await folder.sync().finally(() => folder.close());
    });
  }

  async abortUpload(key: string, id: string): Promise<void> {
    await this.#runFileAction(`the end of a write of ${key}`, () =>
      rm(this.#buildUploadPath(key, id), { force: true }),
    );
  }

  async listUploads(folder: string): Promise<{ key: string; id: string }[]> {
    const files = (await this.#listFiles(folder)).filter((key) => key.includes(BEGUN));
    return files.map((file) => {
      const [key = '', id = ''] = file.split(BEGUN);
      return { key, id };
    });
  }

  #listFiles(folder: string): Promise<string[]> {
    return this.#runFileAction(`a list of ${folder}`, async () => {
      const at = this.#resolvePath(folder.replace(/\/$/, ''));
      const found =
        (await acceptMissing(readdir(at, { recursive: true, withFileTypes: true }))) ?? [];
      const paths = found
        .filter((each) => each.isFile())
        .map((each) => join(each.parentPath, each.name));
      return paths.map((path) => path.slice(this.#mount.length + 1)).toSorted();
    });
  }

  /** Returns the file of a key. Names come from objects that others write: none may lead out of its folder. */
  #resolvePath(key: string): string {
    if (key.split('/').some((part) => ['', '.', '..'].includes(part)) || key.includes('\0'))
      throw new BackupFailed('TargetRefused', `${key} is not a path of a backup.`);
    return join(this.#mount, key);
  }

  #buildUploadPath(key: string, id: string): string {
    return `${this.#resolvePath(key)}${BEGUN}${id}`;
  }

  async #runFileAction<T>(what: string, act: () => Promise<T>): Promise<T> {
    this.#signal.throwIfAborted();
    try {
      return await act();
    } catch (error) {
      if (error instanceof BackupFailed) throw error;
      throw this.#buildFailure(what, error);
    }
  }

  #buildFailure(what: string, error: unknown): BackupFailed {
    const words = `Volume claim ${this.#claim} answers "${toError(error).message}" to ${what}.`;
    if (FULL.includes(getErrorCode(error)))
      return new BackupFailed('NoRoom', words, { cause: error });
    if (AWAY.includes(getErrorCode(error)))
      return new BackupFailed('TargetUnreachable', words, { cause: error });
    return new BackupFailed('TargetRefused', words, { cause: error });
  }
}

/** Returns nothing for a file or a folder that is not there. */
async function acceptMissing<T>(found: Promise<T>): Promise<T | undefined> {
  try {
    return await found;
  } catch (error) {
    if (getErrorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}
