import type { Log } from '../../log.ts';
import type { Cursor, RunEvent } from '../../schema/stream-event.ts';
import { threadKey, type Bus } from './bus.ts';
import type { EventLog } from './log.ts';

type Deps = {
  bus: Bus;
  eventLog: EventLog;
  /** Bytes of the largest message that streams carry. */
  maxEventBytes: number;
  log: Log;
};

/** A run under way, as its readers know it: where its events stand, and the other processes that read it or its thread. */
export type Told = { run: { run_id: string; thread_id: string; resumable: boolean }; at: Cursor; readers: Set<string> };

/** Numbers the events of runs, and hands them to readers in this process and elsewhere. */
export class Publisher {
  readonly #deps: Deps;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** `now`: milliseconds that the events' ids begin with. */
  publish(told: Told, batch: [event: string, json: string][], now = Date.now()): void {
    const { run_id, thread_id } = told.run;
    const events = batch
      .filter((one) => this.#fits(run_id, one))
      .map(([event, json]): RunEvent => {
        told.at = { ms: Math.max(now, told.at.ms), seq: told.at.seq + 1 };
        return { ...told.at, event, json };
      });
    if (events.length === 0) return;
    for (const key of [run_id, threadKey(thread_id)]) this.#deps.bus.say(key, { kind: 'events', run_id, events });
    if (isKept(told)) this.#deps.eventLog.append({ run_id, thread_id, readers: told.readers }, events);
  }

  /** Settles when all that was published is where readers in other processes find it: they stop looking at the end. */
  async heard(told: Told): Promise<void> {
    if (isKept(told)) await this.#deps.eventLog.written();
  }

  /** A message that no reader could take is left out of the stream; the run and its result are whole. */
  #fits(run_id: string, [event, json]: [event: string, json: string]): boolean {
    const max = this.#deps.maxEventBytes;
    // A character is one to three bytes: most messages are decided without counting.
    if (json.length * 3 <= max || (json.length <= max && Buffer.byteLength(json) <= max)) return true;
    this.#deps.log.warn({ run_id, event, characters: json.length, max }, 'message is too large for streams and is left out');
    return false;
  }
}

const isKept = ({ run, readers }: Told): boolean => run.resumable || readers.size > 0;
