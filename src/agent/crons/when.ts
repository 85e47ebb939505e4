import type { Cron, CronPatch } from '../../schema/agent/cron.ts';
import { checkWhen, endTime, nextTime, type When } from './schedule.ts';

/** When a cron fires: its schedule as clients set it, and the next date that follows from it. */
export type CronWhen = Pick<Cron, 'schedule' | 'timezone' | 'end_time' | 'next_run_date' | 'enabled'>;

type Asked = Pick<CronPatch, 'timezone' | 'end_time' | 'enabled'>;

/** Returns the next date on which a cron fires; null when there is none before its end. */
export function nextDate(when: When, { after, end }: { after: Date; end: string | null }): string | null {
  const next = nextTime(when, after);
  return next === undefined || (end !== null && next > new Date(end)) ? null : next.toISOString();
}

const endOf = (text: string | null | undefined): string | null => (text ? endTime(text).toISOString() : null);

/** Returns when a new cron fires. Throws `Invalid` for a schedule, a zone or an end that can't be read. */
export function newWhen({ schedule, ...asked }: Asked & { schedule: string }, now: Date): CronWhen {
  const when = { schedule, timezone: asked.timezone ?? null };
  checkWhen(when, now);
  const end_time = endOf(asked.end_time);
  return { ...when, end_time, next_run_date: nextDate(when, { after: now, end: end_time }), enabled: asked.enabled ?? true };
}

/**
 * Returns when the changed cron fires. Ticks missed while it was disabled stay missed. Throws the errors of `newWhen`.
 */
export function changedWhen(held: CronWhen, asked: Asked & Pick<CronPatch, 'schedule'>, now: Date): CronWhen {
  const when = { schedule: asked.schedule ?? held.schedule, timezone: asked.timezone === undefined ? held.timezone : asked.timezone };
  const isOther = when.schedule !== held.schedule || when.timezone !== held.timezone;
  if (isOther) checkWhen(when, now);
  const end_time = asked.end_time === undefined ? held.end_time : endOf(asked.end_time);
  const enabled = asked.enabled ?? held.enabled;
  const startsAgain = isOther || (enabled && !held.enabled) || !isBefore(held.next_run_date, end_time);
  return { ...when, end_time, enabled, next_run_date: startsAgain ? nextDate(when, { after: now, end: end_time }) : held.next_run_date };
}

const isBefore = (next: string | null, end: string | null): boolean => next !== null && (end === null || new Date(next) <= new Date(end));
