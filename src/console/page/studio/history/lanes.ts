/* Checkpoints in lanes, as histories of branches are drawn: a checkpoint stands in the lane of its newest child. */

/** A checkpoint's row: its lane, the lanes that pass by, and those of its other children, which begin here. */
type LaneRow = {
  lane: number;
  passing: number[];
  joined: number[];
  hasChild: boolean;
  isRoot: boolean;
};

/** Returns the row of each checkpoint. They come newest first, so children stand before their parents. */
export function buildLanes(checkpoints: readonly { id: string; parent: string }[]): LaneRow[] {
  const waiting: (string | undefined)[] = [];
  const known = new Set(checkpoints.map(({ id }) => id));
  return checkpoints.map(({ id, parent }) => {
    const own = waiting.flatMap((one, lane) => (one === id ? [lane] : []));
    const free = waiting.indexOf(undefined);
    const lane = own[0] ?? (free < 0 ? waiting.length : free);
    for (const other of own) waiting[other] = undefined;
    const isRoot = parent === '' || !known.has(parent);
    waiting[lane] = parent === '' ? undefined : parent;
    const passing = waiting.flatMap((one, at) => (one !== undefined && at !== lane ? [at] : []));
    return { lane, passing, joined: own.slice(1), hasChild: own.length > 0, isRoot };
  });
}
