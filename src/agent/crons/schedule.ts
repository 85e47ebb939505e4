import { Cron as Schedule } from 'croner';
import { Invalid } from '../../errors.ts';

/*
 * The language of schedules is croner's: five fields, or six with seconds. A local time that a change of clocks leaves
 * out fires at the first instant after the gap, and one that comes twice fires the first time. A schedule with a `*` or
 * a step in its seconds, minutes or hours follows real time: it skips the gap, and fires in both of the hours.
 */

export type When = { schedule: string; timezone: string | null };

const opened = ({ schedule, timezone }: When): Schedule =>
  new Schedule(schedule, { timezone: timezone ?? 'UTC', mode: '5-or-6-parts', fixedTimeRule: 'no-wildcard', paused: true });

/** Returns the first time after the given one at which the schedule fires; undefined when it never fires again. */
export const nextTime = (when: When, after: Date): Date | undefined => opened(when).nextRun(after) ?? undefined;

/** Throws `Invalid` for a schedule that can't be read or never fires, and for an unknown time zone. */
export function checkWhen({ schedule, timezone }: When, now: Date): void {
  if (timezone !== null && !isZone(timezone))
    refuse('timezone', `Unknown time zone "${timezone}"; it must be an IANA name (Europe/Berlin)`);
  // Croner takes a date for a schedule that fires once.
  if (schedule.includes(':')) refuse('schedule', 'Five or six fields are wanted, not a date');
  let next: Date | undefined;
  try {
    next = nextTime({ schedule, timezone }, now);
  } catch (error) {
    refuse('schedule', (error as Error).message.replace(/^Cron\w*: /, ''));
  }
  if (next === undefined) refuse('schedule', 'It never fires: there is no such date');
}

function isZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '' && !/^[+-]/.test(name);
  } catch {
    return false;
  }
}

/** Returns the time in ISO 8601 with its offset. Throws `Invalid` for an invalid time. */
export function endTime(text: string): Date {
  const isDate = /^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?)?/.test(text);
  const hasOffset = /(Z|[+-]\d\d:?\d\d)$/i.test(text.slice(10));
  const time = new Date(isDate && !hasOffset && text.length > 10 ? `${text}Z` : text);
  if (!isDate || Number.isNaN(time.getTime())) refuse('end_time', 'It must be a time in ISO 8601 (2027-01-31T12:00:00Z)');
  return time;
}

function refuse(field: string, msg: string): never {
  throw new Invalid([{ loc: ['body', field], msg, type: 'value_error' }]);
}
