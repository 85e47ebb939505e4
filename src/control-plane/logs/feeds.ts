import { setTimeout as wait } from 'node:timers/promises';
import { asError } from '../../errors.ts';
import type { ControlPlane } from '../control-plane.ts';
import type { Line } from './lines.ts';
import { podLogs, type LogRequest } from './pod-logs.ts';

/** The pause between two reads of the pods' logs. Each read asks only for what came since the last one. */
const LOOK_MILLISECONDS = 1000;
/** Lines that wait for a slow reader. One that has more to read reads the logs again by itself. */
const MOST_WAITING = 5000;

/** `since`: how far the first reader has read each pod's log by itself. */
type Source = Pick<LogRequest, 'deployment' | 'revision' | 'type'> & Required<Pick<LogRequest, 'since'>>;
type Plane = Pick<ControlPlane, 'kube' | 'logs' | 'log' | 'config'>;

/** A reader's part of a feed: what came since it last looked. */
export class FeedReader {
  #lines: Line[] = [];
  #missed = false;

  push(lines: Line[]): void {
    if (this.#lines.length + lines.length > MOST_WAITING) this.#missed = true;
    if (this.#missed) this.#lines = [];
    else this.#lines.push(...lines);
  }

  /** Returns the lines that came, or undefined when there were too many of them. */
  take(): Line[] | undefined {
    const lines = this.#missed ? undefined : this.#lines;
    this.#lines = [];
    this.#missed = false;
    return lines;
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
    const key = `${source.deployment.metadata.uid} ${source.revision?.metadata.uid ?? ''} ${source.type ?? ''}`;
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
    const last = new Map<string, string>();
    const since = (pod: string): string | undefined => last.get(pod) ?? source.since(pod);
    while (!signal.aborted) {
      await wait(LOOK_MILLISECONDS, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      try {
        const lines = await podLogs(this.#plane, { ...source, signal, since });
        for (const { pod, timestamp } of lines) if (timestamp > (last.get(pod) ?? '')) last.set(pod, timestamp);
        for (const reader of readers) reader.push(lines);
      } catch (error) {
        if (!signal.aborted) this.#plane.log.warn({ err: asError(error) }, 'logs could not be read, the next look tries again');
      }
    }
  }
}
