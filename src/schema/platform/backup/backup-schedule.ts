import { hash } from 'node:crypto';
import { Cron } from 'croner';
import { isTimeZone } from '../../time-zone.ts';

/** Seconds over which the backups of one schedule are spread at most, and the part of the time between two of them. */
const SPREAD = 3600;
const PART = 4;

type When = { schedule?: string; timeZone?: string };

/** Returns the first time of the schedule after this moment, if there is one. Throws if the schedule can't be read. */
function computeNextTick({ schedule = '', timeZone = 'UTC' }: When, after: Date): Date | undefined {
  return (
    new Cron(schedule, { timezone: timeZone, mode: '5-part', paused: true }).nextRun(after) ??
    undefined
  );
}

const IN_RESOURCE = { schedule: 'database.backup.schedule', timeZone: 'database.backup.timeZone' };

/** Returns the sentence on a schedule that is none, or never comes. It begins with the path of the field. */
export function scheduleFault(
  when: When,
  now: Date,
  at: Record<keyof When, string> = IN_RESOURCE,
): string | undefined {
  if (when.schedule === undefined) return undefined;
  if (!isTimeZone(when.timeZone ?? 'UTC'))
    return `${at.timeZone}: "${when.timeZone}" is not a time zone, such as Europe/Berlin.`;
  const wrong = `${at.schedule}: "${when.schedule}" is not a schedule of five fields, such as "0 2 * * *"`;
  try {
    return computeNextTick(when, now) === undefined ? `${wrong}: it never comes.` : undefined;
  } catch (error) {
    return `${wrong}: ${(error as Error).message.replace(/^Cron\w*: /, '')}.`;
  }
}

/**
 * Returns when the next backup after this one is due. Each deployment has a delay of its own, so that a thousand with
 * the same schedule do not start at once.
 */
export function computeNextBackupTime(when: When, last: Date, uid: string): Date | undefined {
  const tick =
    when.schedule === undefined
      ? undefined
      : computeNextTick(when, new Date(last.getTime() - delay(when, last, uid)));
  return tick && new Date(tick.getTime() + delay(when, last, uid));
}

/** Returns the delay of a deployment in milliseconds. */
function delay(when: When, last: Date, uid: string): number {
  const first = computeNextTick(when, last);
  const second = first && computeNextTick(when, first);
  if (first === undefined || second === undefined) return 0;
  const most = Math.min(SPREAD, (second.getTime() - first.getTime()) / 1000 / PART);
  return Math.floor((parseInt(hash('sha256', uid).slice(0, 8), 16) / 0x1_0000_0000) * most) * 1000;
}
