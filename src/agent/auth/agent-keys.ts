import { timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { toError, StartError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { hashAgentKey, CURRENT_KEY, PREVIOUS_KEY } from '../../schema/wire/agent-key.ts';

/** Milliseconds for which the files are believed. Reading them takes a twentieth of one. */
const FRESH = 1000;

/** The keys of the deployment. Kubernetes changes files of a Secret while pods run, so a rotation needs no restart. */
export class AgentKeys {
  readonly #folder: string | undefined;
  readonly #log: Log;
  readonly #clock: () => number;
  #hashes: Buffer[] = [];
  #readAt = -Infinity;

  /** Throws a `StartError` if there is no key in the folder. */
  constructor({
    access,
    log,
    clock = () => performance.now(),
  }: {
    access: { key: string | undefined; keyFolder: string | undefined };
    log: Log;
    clock?: () => number;
  }) {
    this.#folder = access.keyFolder;
    this.#log = log;
    this.#clock = clock;
    if (access.key !== undefined) this.#hashes = [hashAgentKey(access.key)];
    if (this.#folder === undefined) return;
    try {
      this.#read(this.#folder);
    } catch (error) {
      throw new StartError(
        `GX_AGENT_KEY_FOLDER: there is no key to read: ${toError(error).message}`,
        { cause: error },
      );
    }
  }

  /** Returns true if this is a key of the deployment. The time that it takes does not tell how much of it is right. */
  has(given: string): boolean {
    this.#refresh();
    const hash = hashAgentKey(given);
    let found = false;
    for (const known of this.#hashes) found = timingSafeEqual(known, hash) || found;
    return found;
  }

  /** Returns the hashes of the keys, that of the present one first. They are as secret as the keys. */
  readHashes(): Buffer[] {
    this.#refresh();
    return this.#hashes;
  }

  /** Files that can't be read now leave the keys that were read before. */
  #refresh(): void {
    if (this.#folder === undefined || this.#clock() - this.#readAt < FRESH) return;
    try {
      this.#read(this.#folder);
    } catch (error) {
      this.#log.warn({ err: toError(error) }, 'the key of this deployment could not be read again');
    }
    this.#readAt = this.#clock();
  }

  #read(folder: string): void {
    const keys = [
      readFileSync(path.join(folder, CURRENT_KEY), 'utf8'),
      readPreviousKey(folder),
    ].map((key) => key.trim());
    if (keys[0] === '') throw new StartError(`${CURRENT_KEY} in ${folder} is empty.`);
    this.#hashes = keys.filter((key) => key !== '').map(hashAgentKey);
    this.#readAt = this.#clock();
  }
}

/** Returns the key before the present one. Outside of a rotation, which is nearly always, there is none. */
function readPreviousKey(folder: string): string {
  try {
    return readFileSync(path.join(folder, PREVIOUS_KEY), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}
