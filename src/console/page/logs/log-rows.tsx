import { useSignal, type Signal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { rowWindow } from '../deployments/row-window.ts';
import type { FollowedLog } from './followed-log.ts';
import { DRAWN, type ShownLine } from './log-lines.ts';

export type LogLook = { hasTimes: boolean; wraps: boolean; isUtc: boolean };

const ROW = 20;
/** Lines that are drawn when they wrap, because their heights are not known then. */
const WRAPPED = 2000;

/**
 * The lines in sight. It follows the end until the reader scrolls up, says so, and follows again at the end. It never
 * takes the scroll away from a reader.
 */
export function LogRows({ log, look }: { log: FollowedLog; look: LogLook }) {
  const box = useRef<HTMLDivElement>(null);
  const follows = useSignal(true);
  const top = useSignal(0);
  const height = useSignal(600);
  const seen = useSignal(0);
  useScroll(box, { follows, top, height });
  // The lines are no signal, and a part whose properties stay is not drawn again without one.
  void log.changed.value;
  const lines = log.lines.passing;
  const count = log.lines.all.length + log.lines.dropped;
  if (follows.value) seen.value = count;
  useLayoutEffect(() => {
    if (follows.peek()) box.current?.scrollTo({ top: box.current.scrollHeight });
  });
  const drawn = rowWindow({ top: follows.value ? lines.length * ROW : top.value, height: height.value, row: ROW, rows: lines.length });
  const part = look.wraps ? lines.slice(-WRAPPED) : lines.slice(drawn.first, drawn.first + drawn.count);
  return (
    <div class="log-frame">
      <div ref={box} class={`log-lines ${look.wraps ? 'wraps' : ''}`} role="region" aria-label="Lines of the log" tabIndex={0}>
        {look.wraps ? null : <div style={{ height: `${drawn.before}px` }} />}
        {part.map((line, index) => (
          <Line key={look.wraps ? index : drawn.first + index} line={line} look={look} />
        ))}
        {look.wraps ? null : <div style={{ height: `${drawn.behind}px` }} />}
      </div>
      {!follows.value && (
        <button type="button" class="main follow" onClick={() => (follows.value = true)}>
          Follow{count > seen.value ? ` (${count - seen.value} new)` : ''}
        </button>
      )}
    </div>
  );
}

function Line({ line, look }: { line: ShownLine; look: LogLook }) {
  const cut = line.text.length > DRAWN ? `${line.text.slice(0, DRAWN)} … ${line.text.length} characters; the download has all` : line.text;
  return (
    <div class={`line ${line.isGap === true ? 'gap' : line.level.toLowerCase()}`}>
      {look.hasTimes && line.at !== '' && <time dateTime={line.at}>{timeOf(line.at, look.isUtc)} </time>}
      {line.level !== 'INFO' && line.isGap !== true && <b>{line.level} </b>}
      {cut}
    </div>
  );
}

/** Returns the time of a line: its day is mostly that of the line before, so the clock comes first to the eye. */
function timeOf(at: string, isUtc: boolean): string {
  if (isUtc) return at.replace('T', ' ').replace(/(\.\d{3})\d*/, '$1');
  const date = new Date(at);
  const two = (value: number): string => String(value).padStart(2, '0');
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${String(date.getMilliseconds()).padStart(3, '0')}`;
}

type Scrolled = { follows: Signal<boolean>; top: Signal<number>; height: Signal<number> };

/** Follows the scrolling of a reader. A scroll that the page itself makes goes to the end, and changes nothing. */
function useScroll(box: { current: HTMLDivElement | null }, { follows, top, height }: Scrolled): void {
  useLayoutEffect(() => {
    const { current } = box;
    if (current === null) return undefined;
    let before = 0;
    const scroll = (): void => {
      const { scrollTop, scrollHeight, clientHeight } = current;
      top.value = scrollTop;
      const isAtEnd = scrollTop + clientHeight >= scrollHeight - ROW;
      if (isAtEnd) follows.value = true;
      else if (scrollTop < before) follows.value = false;
      before = scrollTop;
    };
    const watch = new ResizeObserver(() => (height.value = current.clientHeight));
    watch.observe(current);
    current.addEventListener('scroll', scroll, { passive: true });
    return () => {
      watch.disconnect();
      current.removeEventListener('scroll', scroll);
    };
  }, []);
}
