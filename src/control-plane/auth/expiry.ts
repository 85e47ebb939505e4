import { StartError } from '../../errors.ts';

const UNITS: Record<string, number> = { m: 60_000, h: 3_600_000, d: 86_400_000 };
const DATE = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/;

/** Returns the time that `--expires` names, in RFC 3339: a time from now, or a date. Throws if it is not to come. */
export function parseExpiry(text: string, now: Date): string {
  const [, count, unit = ''] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  const at =
    count === undefined
      ? DATE.test(text)
        ? Date.parse(text)
        : Number.NaN
      : now.getTime() + Number(count) * UNITS[unit]!;
  if (Number.isNaN(at))
    throw new StartError(
      '--expires must be a time from now (30m, 12h, 90d) or a date (2027-01-31).',
    );
  if (at <= now.getTime()) throw new StartError('--expires must be in the future.');
  return new Date(at).toISOString();
}

/** Returns whether a key is over. One with a time that can't be read counts as over. */
export const isExpired = (
  { expiresAt }: { expiresAt?: string | undefined },
  now: number,
): boolean => expiresAt !== undefined && !(Date.parse(expiresAt) > now);
