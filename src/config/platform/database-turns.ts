import type { SettingsReader } from '../env.ts';

/** A time of each day in UTC, in minutes since midnight. One that ends before it begins goes past midnight. */
export type DailyWindow = { text: string; from: number; to: number };

/** How many databases restart at a time where their deployments ask for it, and when. */
export type DatabaseTurns = { atOnce: number; window?: DailyWindow };

/** Reads when databases restart. */
export function readDatabaseTurns(read: SettingsReader): DatabaseTurns {
  const atOnce = read.readInteger(['GX_DATABASES_AT_ONCE'], 1, { min: 1, max: 1000 });
  const text = read.readOptional(['GX_DATABASES_WINDOW']);
  if (text === undefined) return { atOnce };
  const [, ...numbers] = /^([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)$/.exec(text) ?? [];
  const [fromHour, fromMinute, toHour, toMinute] = numbers.map(Number);
  if (
    fromHour === undefined ||
    fromMinute === undefined ||
    toHour === undefined ||
    toMinute === undefined
  ) {
    read.addProblem(`GX_DATABASES_WINDOW ${text} is not a time window in UTC, such as 01:30-04:00`);
    return { atOnce };
  }
  return { atOnce, window: { text, from: fromHour * 60 + fromMinute, to: toHour * 60 + toMinute } };
}
