import type { StopReason } from './status.ts';

/** Milliseconds in which a run that this process has taken begins here: the answer to its claim is on its way. */
const BEGINS_WITHIN = 10_000;

/** Stops of runs that others see as taken by this process before it has heard so itself. */
export class EarlyStops {
  readonly #reasons = new Map<string, StopReason>();

  remember(runId: string, reason: StopReason): void {
    this.#reasons.set(runId, reason);
    setTimeout(() => this.#reasons.delete(runId), BEGINS_WITHIN).unref();
  }

  /** Why the run that begins now is to stop, once. */
  take(runId: string): StopReason | undefined {
    const reason = this.#reasons.get(runId);
    this.#reasons.delete(runId);
    return reason;
  }
}
