import { setTimeout as wait } from 'node:timers/promises';
import { Problem, Unavailable } from '../../errors.ts';
import type { SseEvent } from '../../http/routes/route.ts';
import type { ControlPlane } from '../control-plane.ts';
import { skipNotFound } from '../../errors.ts';
import { BestLines, compareOrder, MOST_CHARACTERS, type Line } from './best-lines.ts';
import { noteEnd, type LogFeeds } from './feeds.ts';
import type { RevisionResource } from '../../schema/platform/resources/custom-resources.ts';
import type { RevisionStatus } from '../../schema/platform/deployment/statuses.ts';
import { toLogEntry, isMatchingLine, logCursor, decodeLogCursor } from './lines.ts';
import type { LogReads } from './log-reads.ts';
import type { LogSource } from './pod-logs.ts';
import type { FollowQuery } from './schema.ts';
import { LINES_A_TURN, type StreamTurns } from './stream-turns.ts';

/** The pause between two looks at the new lines of the shared feed. */
const LOOK_MILLISECONDS = 1000;

/** Past lines that a stream which is taken up again, or the end of a build, may bring. */
const MOST_PAST = 5000;
const MOST_PAST_CHARACTERS = 4 * MOST_CHARACTERS;

/** Says that lines were left out here: there were more than a stream brings. */
const GAP: SseEvent = { event: 'gap', data: { reason: 'too_many_lines' } };

/**
 * Streams past lines, then new lines as they come, until the client leaves or the deployment is gone. Pods may come and
 * go meanwhile.
 */
export async function* followLogs(
  plane: ControlPlane & { feeds: LogFeeds; reads: LogReads; turns: StreamTurns },
  find: (signal: AbortSignal) => Promise<LogSource>,
  { signal, query, after }: { signal: AbortSignal; query: FollowQuery; after: string | undefined },
): AsyncGenerator<SseEvent> {
  const leaving = AbortSignal.any([signal, plane.stopping]);
  const seen = new ReadPositions(after === undefined ? '' : decodeLogCursor(after));
  const source = await find(leaving);
  const { reader, leave } = plane.feeds.join({ ...source, since: seen.since });
  // A stream that begins here shows so many past lines, and leaves out the others without a word.
  let tail = after === undefined ? (query.tail ?? 100) : undefined;
  let [hasPast, leftOut] = [false, 0];
  try {
    while (!leaving.aborted) {
      const found = await find(leaving).catch(skipNotFound);
      if (found === undefined) return yield { event: 'end', data: { reason: 'gone' } };
      const isOver = found.type === 'build' && isBuildOver(found.revision);
      // The first lines and the rest of a build are read for a caller who asks for them at this time.
      const isPast = isOver || !hasPast;
      const came: Came | undefined = isPast
        ? await readPastLines(plane.reads, found, seen, query, tail)
        : reader.take();
      if (came !== undefined) {
        const now = came.leftOut ?? leftOut;
        // There are more pods than a stream has places for.
        if (now > 0 && now !== leftOut)
          yield {
            event: 'gap',
            data: { reason: 'too_many_pods', pods: now },
          };
        leftOut = now;
        const waitTurn = (): Promise<void> => plane.turns.begin(leaving);
        yield* emitEvents(came, seen, query, waitTurn, hasPast || tail === undefined);
        [hasPast, tail] = [true, undefined];
        if (isOver) return yield { event: 'end', data: { reason: 'ended' } };
      }
      await wait(LOOK_MILLISECONDS, undefined, { signal: leaving }).catch(() => undefined);
    }
  } finally {
    leave();
  }
}

/** Returns the events of lines that have come and were not shown yet, so many in each turn. */
async function* emitEvents(
  { lines, missed, note }: Came,
  seen: ReadPositions,
  query: FollowQuery,
  turn: () => Promise<void>,
  tellsGap: boolean,
): AsyncGenerator<SseEvent> {
  if (missed && tellsGap) yield GAP;
  const shown = seen.takeNewLines(lines).filter((line) => isMatchingLine(line, query));
  for (const [at, line] of shown.entries()) {
    if (at % LINES_A_TURN === 0) await turn();
    yield { event: 'log', id: logCursor(line.order), data: toLogEntry(line) };
  }
  note?.();
}

type Came = {
  lines: readonly Line[];
  missed: boolean;
  leftOut: number | undefined;
  note?: () => void;
};
/**
 * Reads the newest lines that a stream has not shown. `note` notes how far was read. Returns undefined where too many
 * logs are being read, or a node is slow: the next look tries again.
 */
async function readPastLines(
  reads: LogReads,
  source: LogSource,
  seen: ReadPositions,
  query: FollowQuery,
  tail: number = MOST_PAST,
): Promise<Came | undefined> {
  const isWanted = (line: Line): boolean => seen.isNew(line) && isMatchingLine(line, query);
  const newest = new BestLines({
    order: 'desc',
    lines: tail,
    characters: MOST_PAST_CHARACTERS,
    wants: isWanted,
  });
  const last = new Map<string, Line>();
  let leftOut: number;
  try {
    leftOut = await reads.readLast(source, (lines) => {
      newest.add(lines);
      noteEnd(last, lines);
    });
  } catch (error) {
    if (error instanceof Unavailable || (error instanceof Problem && error.status === 429))
      return undefined;
    throw error;
  }
  return {
    lines: newest.lines,
    missed: newest.isFull,
    leftOut,
    note: () => seen.note([...last.values()]),
  };
}

/** Phases of a revision whose build is yet to end. */
const BEFORE_BUILT: readonly (RevisionStatus | undefined)[] = [
  undefined,
  'CREATING',
  'QUEUED',
  'AWAITING_BUILD',
  'BUILDING',
];

/** Returns true if no line of a build will come any more. */
const isBuildOver = (revision: RevisionResource | undefined): boolean =>
  revision !== undefined &&
  (revision.spec.source !== 'git' || !BEFORE_BUILT.includes(revision.status?.phase));

/** Remembers how far each pod's log was read. A line of one pod may arrive after a newer line of another. */
class ReadPositions {
  readonly #from: string;
  readonly #last = new Map<string, Line>();

  constructor(from: string) {
    this.#from = from;
  }

  readonly since = (pod: string): string | undefined => this.#last.get(pod)?.timestamp;

  isNew({ pod, order }: Line): boolean {
    return order > (this.#last.get(pod)?.order ?? this.#from);
  }

  takeNewLines(lines: readonly Line[]): Line[] {
    const fresh = lines.filter((line) => this.isNew(line)).toSorted(compareOrder);
    this.note(fresh);
    return fresh;
  }

  note(lines: readonly Line[]): void {
    for (const ofPod of Map.groupBy(lines, ({ pod }) => pod).values()) noteEnd(this.#last, ofPod);
  }
}
