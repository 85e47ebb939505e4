import type { Cron, CronPatch } from '../../schema/agent/cron.ts';
import { Cron as Schedule } from 'croner';
import { Invalid } from '../../errors.ts';
import { isTimeZone } from '../../schema/time-zone.ts';

/** When a cron fires: its schedule as clients set it, and the next date that follows from it. */
export type CronWhen = Pick<
  Cron,
  'schedule' | 'timezone' | 'end_time' | 'next_run_date' | 'enabled'
>;

/** Returns the next date on which a cron fires; null when there is none before its end. */
export function findNextDate(
  when: When,
  { after, end }: { after: Date; end: string | null },
): string | null {
  const next = findNextTime(when, after);
  return next === undefined || (end !== null && next > new Date(end)) ? null : next.toISOString();
}

const toEndTime = (text: string | null | undefined): string | null =>
  text ? endTime(text).toISOString() : null;

/** Returns when a new cron fires. Throws `Invalid` for a schedule, a zone or an end that can't be read. */
export function buildCronWhen(
  { schedule, ...asked }: CronPatch & { schedule: string },
  now: Date,
): CronWhen {
  const when = { schedule, timezone: asked.timezone ?? null };
  checkWhen(when, now);
  const end_time = toEndTime(asked.end_time);
  return {
    ...when,
    end_time,
    next_run_date: findNextDate(when, { after: now, end: end_time }),
    enabled: asked.enabled ?? true,
  };
}

/**
 * Returns when the changed cron fires. Ticks missed while it was disabled stay missed. Throws as `buildCronWhen` does.
 */
export function mergeCronWhen(held: CronWhen, asked: CronPatch, now: Date): CronWhen {
  const when = {
    schedule: asked.schedule ?? held.schedule,
    timezone: asked.timezone === undefined ? held.timezone : asked.timezone,
  };
  const isOther = when.schedule !== held.schedule || when.timezone !== held.timezone;
  if (isOther) checkWhen(when, now);
  const end_time = asked.end_time === undefined ? held.end_time : toEndTime(asked.end_time);
  const enabled = asked.enabled ?? held.enabled;
  const startsAgain =
    isOther || (enabled && !held.enabled) || !isBefore(held.next_run_date, end_time);
  return {
    ...when,
    end_time,
    enabled,
    next_run_date: startsAgain
      ? findNextDate(when, { after: now, end: end_time })
      : held.next_run_date,
  };
}

const isBefore = (next: string | null, end: string | null): boolean =>
  next !== null && (end === null || new Date(next) <= new Date(end));

/*
 * The language of schedules is croner's: five fields, or six with seconds. A local time that a change of clocks leaves
 * out fires at the first instant after the gap, and one that comes twice fires the first time. A schedule with a `*` or
 * a step in its seconds, minutes or hours follows real time: it skips the gap, and fires in both of the hours.
 */

type When = { schedule: string; timezone: string | null };

/** Returns the first time after the given one at which the schedule fires; undefined when it never fires again. */
export const findNextTime = (when: When, after: Date): Date | undefined =>
  new Schedule(when.schedule, {
    timezone: when.timezone ?? 'UTC',
    mode: '5-or-6-parts',
    fixedTimeRule: 'no-wildcard',
    paused: true,
  }).nextRun(after) ?? undefined;

/** Throws `Invalid` for a schedule that can't be read or never fires, and for an unknown time zone. */
export function checkWhen({ schedule, timezone }: When, now: Date): void {
  if (timezone !== null && !isTimeZone(timezone))
    refuse('timezone', `Unknown time zone "${timezone}"; it must be an IANA name (Europe/Berlin)`);
  // Croner takes a date for a schedule that fires once.
  if (schedule.includes(':'))
    refuse('schedule', 'It must have five or six fields, and this is a date');
  let next: Date | undefined;
  try {
    next = findNextTime({ schedule, timezone }, now);
  } catch (error) {
    refuse('schedule', (error as Error).message.replace(/^Cron\w*: /, ''));
  }
  if (next === undefined) refuse('schedule', 'It never fires: there is no such date');
}

/** Returns the time in ISO 8601 with its offset. Throws `Invalid` for an invalid time. */
export function endTime(text: string): Date {
  const isDate = /^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?)?/.test(text);
  const hasOffset = /(Z|[+-]\d\d:?\d\d)$/i.test(text.slice(10));
  const time = new Date(isDate && !hasOffset && text.length > 10 ? `${text}Z` : text);
  if (!isDate || Number.isNaN(time.getTime()))
    refuse('end_time', 'It must be a time in ISO 8601 (2027-01-31T12:00:00Z)');
  return time;
}

function refuse(field: string, msg: string): never {
  throw new Invalid([{ loc: ['body', field], msg, type: 'value_error' }]);
}
