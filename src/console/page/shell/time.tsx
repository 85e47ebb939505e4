import { usePage } from './page-parts.ts';
import { allTimeTexts, timeText } from './time-text.ts';

/** A time, as the reader has chosen to see times. Its title has all forms. */
export function Time({ at }: { at: string | null | undefined }) {
  const { preferences, now } = usePage();
  if (at === null || at === undefined || at === '') return <span>never</span>;
  const milliseconds = Date.parse(at);
  return (
    <time dateTime={at} title={allTimeTexts(milliseconds)}>
      {timeText(milliseconds, { mode: preferences.time.value, now: now.value })}
    </time>
  );
}
