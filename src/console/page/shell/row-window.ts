/**
 * The rows that are drawn of a long list: from `first`, so many, and the heights of those before and behind. `slots` is
 * the most that are drawn at a time, wherever it is scrolled to.
 */
export type RowWindow = {
  first: number;
  count: number;
  before: number;
  behind: number;
  slots: number;
};

/** Rows that are drawn above and below those in sight, so that scrolling shows no empty place. */
const OVER = 10;

/** Returns the window over a list of rows of one height. */
export function measureRowWindow({
  top,
  height,
  row,
  rows,
}: {
  top: number;
  height: number;
  row: number;
  rows: number;
}): RowWindow {
  const first = Math.min(Math.max(0, Math.floor(top / row) - OVER), Math.max(0, rows - 1));
  const end = Math.min(rows, Math.ceil((top + height) / row) + OVER);
  const count = Math.max(0, end - first);
  const slots = Math.ceil(height / row) + 1 + 2 * OVER;
  return {
    first,
    count,
    before: first * row,
    behind: Math.max(0, rows - first - count) * row,
    slots,
  };
}
