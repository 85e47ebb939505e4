import type { Claimed } from '../db/leases.ts';
import type { StopReason } from './status.ts';

/** Milliseconds in which a run that this process has taken begins here: the answer to its claim is on its way. */
const BEGINS_WITHIN = 10_000;

/** What others say of runs that they see as taken by this process before it has heard so itself. */
export class Early {
  readonly #stops = new Map<string, { reason: StopReason; timer: NodeJS.Timeout }>();
  readonly #readers = new Map<string, Map<string, NodeJS.Timeout>>();

  stop(runId: string, reason: StopReason): void {
    clearTimeout(this.#stops.get(runId)?.timer);
    const timer = setTimeout(() => this.#stops.delete(runId), BEGINS_WITHIN).unref();
    this.#stops.set(runId, { reason, timer });
  }

  /** A process that reads the run, or all runs of the thread, of this id. */
  reader(id: string, reader: string): void {
    const readers = this.#readers.get(id) ?? new Map<string, NodeJS.Timeout>();
    this.#readers.set(id, readers);
    const forget = (): void => {
      readers.delete(reader);
      if (readers.size === 0) this.#readers.delete(id);
    };
    clearTimeout(readers.get(reader));
    readers.set(reader, setTimeout(forget, BEGINS_WITHIN).unref());
  }

  /** What was said of the run that begins now. */
  of({ run_id, thread_id }: Pick<Claimed, 'run_id' | 'thread_id'>): { stopped: StopReason | undefined; readers: string[] } {
    const stop = this.#stops.get(run_id);
    clearTimeout(stop?.timer);
    this.#stops.delete(run_id);
    return { stopped: stop?.reason, readers: [run_id, thread_id].flatMap((id) => [...(this.#readers.get(id)?.keys() ?? [])]) };
  }
}
