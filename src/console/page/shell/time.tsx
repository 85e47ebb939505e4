import { usePage } from './page-parts.ts';
import { formatAllTimes, formatTime, type TimeForm } from './time-text.ts';

/** A time, as the reader has chosen to see times. Its title has all forms. */
export function Time({ at, ...form }: TimeForm & { at: string | null | undefined }) {
  const { preferences, now } = usePage();
  if (at === null || at === undefined || at === '') return <span>never</span>;
  const milliseconds = Date.parse(at);
  return (
    <time dateTime={at} title={formatAllTimes(milliseconds)}>
      {formatTime(milliseconds, { mode: preferences.time.value, now: now.value, ...form })}
    </time>
  );
}
