import { signal } from '@preact/signals';
import type { Calls } from '../api/calls.ts';
import type { StreamMessage } from '../live/event-blocks.ts';
import { followStream, type Connection } from '../live/follow-stream.ts';
import {
  LogLines,
  stripColours,
  type LineFilter,
  type LogLevel,
  type ShownLine,
} from './log-lines.ts';
import { describeFailure } from '../api/failure-text.ts';

/** Past lines with which a log begins. */
const TAIL = 1000;

/** A log that is followed. It takes the lines of a frame together, so that no number of them stops the page. */
export class FollowedLog {
  readonly lines = new LogLines();
  readonly changed = signal(0);
  readonly connection = signal<Connection>({ kind: 'connecting' });
  /** Why no more lines come: a sentence. */
  readonly ended = signal<string | undefined>(undefined);
  #waiting: ShownLine[] = [];
  #isAsked = false;

  follow(
    calls: Calls,
    { path, isBuild }: { path: string; isBuild: boolean },
    abort: AbortSignal,
  ): void {
    const query = { tail: TAIL, ...(isBuild && { type: 'build' }) };
    const takeMessage = (one: StreamMessage): void => this.#take(one);
    const setConnection = (connection: Connection): void =>
      void (this.connection.value = connection);
    followStream({
      calls,
      path,
      query,
      after: undefined,
      signal: abort,
      message: takeMessage,
      state: setConnection,
    }).catch((error: unknown) => {
      if (!abort.aborted) this.ended.value = describeFailure(error);
    });
  }

  filter(filter: LineFilter): void {
    this.lines.filter(filter);
    this.changed.value += 1;
  }

  #take({ event, data }: StreamMessage): void {
    if (event === 'end') {
      const { reason } = data as { reason: string };
      this.ended.value = reason === 'gone' ? 'The deployment was deleted.' : 'The build is over.';
    }
    const line = toShownLine(event, data);
    if (line === undefined) return;
    this.#waiting.push(line);
    if (this.#isAsked) return;
    this.#isAsked = true;
    if (document.visibilityState === 'visible') requestAnimationFrame(() => this.#flush());
    else setTimeout(() => this.#flush(), 250);
  }

  #flush(): void {
    this.#isAsked = false;
    this.lines.add(this.#waiting);
    this.#waiting = [];
    this.changed.value += 1;
  }
}

const describeGap = ({ reason, pods }: { reason?: string; pods?: number }): string =>
  reason === 'too_many_pods'
    ? `The logs of ${pods} more pods are not shown: 20 are followed, the newest of each component and revision. Open a revision to see its own.`
    : 'Lines are missing here: there were more than a stream can carry.';

function toShownLine(event: string, data: unknown): ShownLine | undefined {
  if (event === 'gap')
    return {
      at: '',
      level: 'WARNING',
      text: describeGap(data as { reason?: string; pods?: number }),
      isGap: true,
    };
  if (event !== 'log') return undefined;
  const { timestamp, level, message } = data as {
    timestamp: string;
    level: LogLevel;
    message: string;
  };
  return { at: timestamp, level, text: stripColours(message) };
}
