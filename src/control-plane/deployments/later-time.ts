/** Returns the present time, or a later one if that is already stored, because the same value would ask for nothing. */
export function deriveLaterTime(before: string | undefined, now: Date): string {
  const least = before === undefined ? 0 : new Date(before).getTime() + 1;
  return new Date(Math.max(now.getTime(), least)).toISOString();
}
