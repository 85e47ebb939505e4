import type { Claimed } from '../db/leases.ts';
import type { StopReason } from './status.ts';

/** Milliseconds in which a run that this process has taken begins here: the answer to its claim is on its way. */
const BEGINS_WITHIN = 10_000;

/** What others say of runs that they see as taken by this process before it has heard so itself. */
export class Early {
  readonly #stops = new Map<string, StopReason>();
  readonly #readers = new Map<string, Set<string>>();

  stop(runId: string, reason: StopReason): void {
    this.#stops.set(runId, reason);
    setTimeout(() => this.#stops.delete(runId), BEGINS_WITHIN).unref();
  }

  /** A process that reads the run, or all runs of the thread, of this id. */
  reader(id: string, reader: string): void {
    const readers = this.#readers.get(id) ?? new Set();
    this.#readers.set(id, readers.add(reader));
    setTimeout(() => this.#readers.delete(id), BEGINS_WITHIN).unref();
  }

  /** What was said of the run that begins now. */
  of({ run_id, thread_id }: Pick<Claimed, 'run_id' | 'thread_id'>): { stopped: StopReason | undefined; readers: string[] } {
    const stopped = this.#stops.get(run_id);
    this.#stops.delete(run_id);
    return { stopped, readers: [run_id, thread_id].flatMap((id) => [...(this.#readers.get(id) ?? [])]) };
  }
}
