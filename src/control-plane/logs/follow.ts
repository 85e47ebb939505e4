import { setTimeout as wait } from 'node:timers/promises';
import { NotFound } from '../../errors.ts';
import type { SseEvent } from '../../http/route.ts';
import type { ControlPlane } from '../control-plane.ts';
import type { LogFeeds } from './feeds.ts';
import type { RevisionResource } from '../../schema/custom-resources.ts';
import type { RevisionStatus } from '../../schema/revision.ts';
import { type Line, byOrder, logCursor, entryOf, lets, orderOf } from './lines.ts';
import { type LogRequest, podLogs } from './pod-logs.ts';
import type { FollowQuery } from './schema.ts';

/** The pause between two looks at what the shared feed has brought. */
const LOOK_MILLISECONDS = 1000;

type LogSource = Pick<LogRequest, 'deployment' | 'revision' | 'type'>;
type Following = { signal: AbortSignal; query: FollowQuery; after: string | undefined };

/**
 * Streams past lines, then new lines as they come, until the client leaves or the deployment is gone. Pods may come and
 * go meanwhile.
 */
export async function* followLogs(
  plane: ControlPlane & { feeds: LogFeeds },
  find: (signal: AbortSignal) => Promise<LogSource>,
  { signal, query, after }: Following,
): AsyncGenerator<SseEvent> {
  const leaving = AbortSignal.any([signal, plane.stopping]);
  const seen = new ReadPositions(after === undefined ? '' : orderOf(after));
  let most = after === undefined ? (query.tail ?? 100) : Infinity;
  const source = await find(leaving);
  const { reader, leave } = plane.feeds.join({ ...source, since: seen.since });
  try {
    let came: Line[] | undefined;
    while (!leaving.aborted) {
      const found = await find(leaving).catch(absentIfGone);
      if (found === undefined) return yield { event: 'end', data: { reason: 'gone' } };
      const isOver = found.type === 'build' && isBuildOver(found.revision);
      // The first lines, the rest of a build, and what a slow reader has missed are read for this reader alone.
      came = isOver ? undefined : came;
      came ??= await podLogs(plane, { ...found, signal: leaving, since: seen.since });
      const shown = seen.newLines(came).filter((line) => lets(line, query));
      for (const line of shown.slice(Math.max(0, shown.length - most)))
        yield { event: 'log', id: logCursor(line.order), data: entryOf(line) };
      most = Infinity;
      if (isOver) return yield { event: 'end', data: { reason: 'ended' } };
      await wait(LOOK_MILLISECONDS, undefined, { signal: leaving }).catch(() => undefined);
      came = reader.take();
    }
  } finally {
    leave();
  }
}

/** Phases of a revision whose build is yet to end. */
const BEFORE_BUILT: readonly (RevisionStatus | undefined)[] = [undefined, 'CREATING', 'QUEUED', 'AWAITING_BUILD', 'BUILDING'];

/** Returns true if no line of a build will come any more. */
const isBuildOver = (revision: RevisionResource | undefined): boolean =>
  revision !== undefined && (revision.spec.source !== 'git' || !BEFORE_BUILT.includes(revision.status?.phase));

/** Remembers how far each pod's log was read. A line of one pod may arrive after a newer line of another. */
class ReadPositions {
  readonly #from: string;
  readonly #last = new Map<string, Line>();

  constructor(from: string) {
    this.#from = from;
  }

  readonly since = (pod: string): string | undefined => this.#last.get(pod)?.timestamp;

  /** Returns the lines that were not there before, in their order. */
  newLines(lines: Line[]): Line[] {
    const fresh = lines.filter((line) => line.order > (this.#last.get(line.pod)?.order ?? this.#from)).toSorted(byOrder);
    for (const line of fresh) this.#last.set(line.pod, line);
    return fresh;
  }
}

function absentIfGone(error: unknown): undefined {
  if (error instanceof NotFound) return undefined;
  throw error;
}
