/** How times are shown: as the clock on the wall, in UTC, or as the time that has passed. */
export const TIME_MODES = ['relative', 'local', 'utc'] as const;
export type TimeMode = (typeof TIME_MODES)[number];

const STEPS: readonly (readonly [unit: Intl.RelativeTimeFormatUnit, seconds: number])[] = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
];
const RELATIVE = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
const FIELDS = {
  year: 'numeric',
  month: 'short',
  day: '2-digit',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
} as const;

/** Returns how long ago a time was, or how long it will take until it comes: `5 minutes ago`, `in 2 hours`. */
export function formatRelativeTime(at: number, now: number): string {
  const seconds = Math.round((at - now) / 1000);
  const size = Math.abs(seconds);
  const [unit, length] = STEPS.find(([, one]) => size >= one) ?? ['second', 1];
  return RELATIVE.format(Math.trunc(seconds / length), unit);
}

const buildDateFormat = (timeZone?: string): Intl.DateTimeFormat =>
  new Intl.DateTimeFormat('en-GB', {
    ...FIELDS,
    hour12: false,
    timeZoneName: 'short',
    ...(timeZone !== undefined && { timeZone }),
  });
/** Making a format takes longer than drawing a row. */
const UTC = buildDateFormat('UTC');
const LOCAL = buildDateFormat();

/** Returns a time with its zone. `zone` is a name of the tz database; undefined is that of the machine. */
export const formatAbsoluteTime = (at: number, zone: string | undefined): string =>
  (zone === undefined ? LOCAL : zone === 'UTC' ? UTC : buildDateFormat(zone)).format(at);

export type TimeForm = {
  /** It may be ahead. Any other time is past, though the clock of the page stands still between two ticks. */
  isToCome?: boolean;
  /** It stands behind a word such as until, where `in 2 months` would be no date. */
  isDate?: boolean;
};

/** Returns the text of a time in a mode. */
export function formatTime(
  at: number,
  {
    mode,
    now,
    zone,
    isToCome = false,
    isDate = false,
  }: TimeForm & { mode: TimeMode; now: number; zone?: string },
): string {
  if (Number.isNaN(at)) return 'unknown';
  if (mode === 'relative' && !isDate)
    return formatRelativeTime(isToCome ? at : Math.min(at, now), now);
  return formatAbsoluteTime(at, mode === 'utc' ? 'UTC' : zone);
}

/** Returns all forms of a time, for the title of the short one. */
export const formatAllTimes = (at: number, zone?: string): string =>
  Number.isNaN(at)
    ? 'unknown'
    : `${formatAbsoluteTime(at, zone)} · ${formatAbsoluteTime(at, 'UTC')}`;
