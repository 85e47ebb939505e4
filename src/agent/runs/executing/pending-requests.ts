import type { StopReason } from './end.ts';

/** Milliseconds within which a run that this process has claimed begins here: the answer to its claim is on its way. */
const BEGINS_WITHIN = 10_000;

/**
 * Keeps other processes' requests about runs that have not begun here: they may see a claim in the database before its
 * answer reaches this worker. Each request is kept for ten seconds after it was last made.
 */
export class PendingRequests {
  readonly #stops = new Map<string, { reason: StopReason; timer: NodeJS.Timeout }>();
  readonly #readers = new Map<string, Map<string, NodeJS.Timeout>>();

  addStop(runId: string, reason: StopReason): void {
    clearTimeout(this.#stops.get(runId)?.timer);
    const timer = setTimeout(() => this.#stops.delete(runId), BEGINS_WITHIN).unref();
    this.#stops.set(runId, { reason, timer });
  }

  addReader(id: string, reader: string): void {
    const readers = this.#readers.get(id) ?? new Map<string, NodeJS.Timeout>();
    this.#readers.set(id, readers);
    const removeReader = (): void => {
      readers.delete(reader);
      if (readers.size === 0) this.#readers.delete(id);
    };
    clearTimeout(readers.get(reader));
    readers.set(reader, setTimeout(removeReader, BEGINS_WITHIN).unref());
  }

  /**
   * Takes the requests about a run that begins now. A stop counts for one beginning; readers stay for the thread's next
   * run.
   */
  take({ run_id, thread_id }: { run_id: string; thread_id: string }): {
    stop: StopReason | undefined;
    readers: string[];
  } {
    const stop = this.#stops.get(run_id);
    clearTimeout(stop?.timer);
    this.#stops.delete(run_id);
    return {
      stop: stop?.reason,
      readers: [run_id, thread_id].flatMap((id) => [...(this.#readers.get(id)?.keys() ?? [])]),
    };
  }
}
