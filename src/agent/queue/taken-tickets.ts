import { asError } from '../../errors.ts';
import type { Log } from '../../log.ts';

/** Milliseconds for which tickets that were taken are gathered, so that a busy worker deletes many at once. */
const GATHER = 200;

/** Deletes the tickets that were taken. Nobody waits for it. */
export class TakenTickets {
  readonly #drop: (ids: string[]) => Promise<unknown>;
  readonly #log: Log;
  #ids: string[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(drop: (ids: string[]) => Promise<unknown>, log: Log) {
    this.#drop = drop;
    this.#log = log;
  }

  add(ids: string[]): void {
    if (ids.length === 0) return;
    this.#ids.push(...ids);
    this.#timer ??= setTimeout(() => void this.#dropAll(), GATHER);
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#dropAll();
  }

  async #dropAll(): Promise<void> {
    this.#timer = undefined;
    const ids = this.#ids.splice(0);
    if (ids.length === 0) return;
    await this.#drop(ids).catch((error: unknown) => this.#log.debug({ err: asError(error) }, 'tickets will expire'));
  }
}
