import type { Log } from '../../log.ts';
import { setTimeout as wait } from 'node:timers/promises';
import { toError } from '../../errors.ts';
import { BestLines, copyLine, MOST_CHARACTERS, type Line } from './best-lines.ts';
import { buildSourceId, type LogReads } from './log-reads.ts';
import type { LogRequest, LogSource } from './pod-logs.ts';

/** The pause between two reads of the pods' logs. Each read asks only for lines since the last one. */
const LOOK_MILLISECONDS = 1000;
/** Lines that wait for a slow reader. */
const MOST_WAITING = 5000;
/** A look that took long is followed by a pause so many times as long, so that no feed keeps the process busy. */
const REST = 4;

/** `since`: how far the first reader has read each pod's log by itself. */
type Source = LogSource & Required<Pick<LogRequest, 'since'>>;
type Plane = { reads: LogReads; log: Log };
/** `leftOut`: the number of pods whose logs were not read, once it is known. */
type Came = { lines: readonly Line[]; missed: boolean; leftOut: number | undefined };

/** A reader's part of a feed: the lines since it last looked. */
export class FeedReader {
  #lines: Line[] = [];
  #characters = 0;
  #missed = false;
  #leftOut: number | undefined;

  push(
    lines: readonly Line[],
    { missed = false, leftOut }: { missed?: boolean; leftOut?: number | undefined } = {},
  ): void {
    const characters = lines.reduce((sum, { message }) => sum + message.length, 0);
    const isFull =
      this.#lines.length + lines.length > MOST_WAITING ||
      this.#characters + characters > MOST_CHARACTERS;
    // The newest are of more use than those that have waited.
    if (isFull && this.#lines.length > 0)
      [this.#lines, this.#characters, this.#missed] = [[], 0, true];
    for (const line of lines) this.#lines.push(line);
    this.#characters += characters;
    this.#missed ||= missed;
    this.#leftOut = leftOut ?? this.#leftOut;
  }

  /** Returns the lines that came, and whether some before them were too many. */
  take(): Came {
    const came = { lines: this.#lines, missed: this.#missed, leftOut: this.#leftOut };
    [this.#lines, this.#characters, this.#missed] = [[], 0, false];
    return came;
  }
}

type Feed = { readers: Set<FeedReader>; ending: AbortController };

/** Follows the logs of each deployment or revision once, however many read them. */
export class LogFeeds {
  readonly #plane: Plane;
  readonly #feeds = new Map<string, Feed>();

  constructor(plane: Plane) {
    this.#plane = plane;
  }

  /** Adds a reader. It must leave. */
  join(source: Source): { reader: FeedReader; leave: () => void } {
    const key = buildSourceId(source);
    const reader = new FeedReader();
    let feed = this.#feeds.get(key);
    if (feed === undefined) {
      feed = { readers: new Set(), ending: new AbortController() };
      this.#feeds.set(key, feed);
      void this.#follow(source, feed);
    }
    const { readers, ending } = feed;
    readers.add(reader);
    const leave = (): void => {
      readers.delete(reader);
      if (readers.size > 0) return;
      ending.abort();
      if (this.#feeds.get(key)?.readers === readers) this.#feeds.delete(key);
    };
    return { reader, leave };
  }

  async #follow(source: Source, { readers, ending: { signal } }: Feed): Promise<void> {
    const last = new Map<string, Line>();
    const getSince = (pod: string): string | undefined =>
      last.get(pod)?.timestamp ?? source.since(pod);
    let pause = LOOK_MILLISECONDS;
    while (!signal.aborted) {
      await wait(pause, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      const began = performance.now();
      try {
        const { lines, ...more } = await this.#look({ ...source, signal, since: getSince }, last);
        for (const reader of readers) reader.push(lines, more);
      } catch (error) {
        if (!signal.aborted)
          this.#plane.log.warn(
            { err: toError(error) },
            'logs could not be read, the next look tries again',
          );
      }
      pause = Math.max(LOOK_MILLISECONDS, REST * (performance.now() - began));
    }
  }

  /** Returns the newest lines since the last look, and notes in `last` how far they go. */
  async #look(request: LogRequest & Source, last: Map<string, Line>): Promise<Came> {
    const before = new Map(last);
    const isWanted = ({ pod, order }: Line): boolean => order > (before.get(pod)?.order ?? '');
    const newest = new BestLines({ order: 'desc', lines: MOST_WAITING, wants: isWanted });
    let missedAny = false;
    const leftOut = await this.#plane.reads.readSince(request, (lines, missed) => {
      missedAny ||= missed;
      newest.add(lines);
      noteEnd(last, lines);
    });
    return { lines: newest.lines.toReversed(), missed: missedAny || newest.isFull, leftOut };
  }
}

/** Notes a copy of the last line of one pod, of lines in their order. A part of a long text would hold all of it. */
export function noteEnd(last: Map<string, Line>, lines: readonly Line[]): void {
  const end = lines.at(-1);
  if (end === undefined || end.order <= (last.get(end.pod)?.order ?? '')) return;
  last.set(end.pod, copyLine({ ...end, message: '' }));
}
