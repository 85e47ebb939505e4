import { computeNeededWorkers, USUAL_SLOTS } from '../../schema/wire/work-summary.ts';
import type { PinnedWork } from '../../schema/wire/work-report.ts';

/** How many queue pods a replaced revision is to have, and since when it has had nothing to do, in milliseconds. */
export type DrainState = { desired: number; quietSince: number | undefined };

export type DrainSituation = {
  /** Undefined while its work was not counted. */
  work: PinnedWork | undefined;
  slots: number | undefined;
  live: number;
  most: number;
  now: number;
  /** Seconds without work after which it has no pods. */
  downSeconds: number;
};

/** Seconds before a run is due in which a worker gets ready for it. */
const AHEAD = 30;

/**
 * Decides how many queue pods a replaced revision has. It goes up at once, and down to none after a time without work.
 * It never goes down in between, because each pod that is removed hands its runs over.
 */
export function decideDrain(before: DrainState | undefined, situation: DrainSituation): DrainState {
  const { work, slots = USUAL_SLOTS, live, most, now, downSeconds } = situation;
  const held = before?.desired ?? Math.min(live, most);
  if (work === undefined) return { desired: held, quietSince: undefined };
  const isNext = work.next_due !== null && Date.parse(work.next_due) - now < AHEAD * 1000;
  const asked = Math.max(computeNeededWorkers(work, slots), isNext ? 1 : 0);
  if (asked > 0) return { desired: Math.min(most, Math.max(asked, held)), quietSince: undefined };
  const quietSince = before?.quietSince ?? now;
  return { desired: now - quietSince >= downSeconds * 1000 ? 0 : held, quietSince };
}

/** The present queue of a replaced revision that keeps work. */
export type DrainingQueue = { revision: string; live: number; most: number };
