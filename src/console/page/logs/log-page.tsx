import { useSignal, type Signal } from '@preact/signals';
import { useEffect, useMemo, useLayoutEffect, useRef } from 'preact/hooks';
import { useApp } from '../shell/app.ts';
import { saveFile } from '../shell/save-file.ts';
import { FollowedLog } from './followed-log.ts';
import { DRAWN, LOG_LEVELS, readEntry, type LogLevel, type ShownLine } from './log-lines.ts';
import { Button, Select } from '../shell/controls.tsx';
import { measureRowWindow } from '../shell/row-window.ts';

/** The log of a deployment's agents, or of the build of a revision. */
export function LogView({ id, name, revision }: { id: string; name: string; revision?: string }) {
  const app = useApp();
  const log = useMemo(() => new FollowedLog(), [id, revision]);
  const deployment = `v2/deployments/${encodeURIComponent(id)}`;
  useEffect(() => {
    const leaving = new AbortController();
    const path =
      revision === undefined
        ? `${deployment}/logs/stream`
        : `${deployment}/revisions/${encodeURIComponent(revision)}/logs/stream`;
    log.follow(app.calls, { path, isBuild: revision !== undefined }, leaving.signal);
    return () => leaving.abort();
  }, [log]);
  const look = useSignal<LogLook>({
    hasTimes: true,
    hasFields: false,
    wraps: false,
    isUtc: app.preferences.time.value === 'utc',
  });
  void log.changed.value;
  const { connection, ended, lines } = log;
  return (
    <section class="log">
      <h2>
        {revision === undefined
          ? 'Log of the agents'
          : `Log of the build of ${revision.slice(0, 8)}`}
      </h2>
      <Controls
        log={log}
        look={look.value}
        change={(part) => (look.value = { ...look.value, ...part })}
        name={name}
      />
      <p class="quiet" role="status">
        {lines.passing.length === lines.all.length
          ? `${lines.all.length} lines`
          : `${lines.passing.length} of ${lines.all.length} lines`}
        {lines.dropped > 0 && `, ${lines.dropped} older ones are no longer kept`}
        {connection.value.kind === 'offline' &&
          '. The connection is lost; the log resumes where it was'}
        {ended.value !== undefined && `. ${ended.value}`}
      </p>
      <LogRows log={log} look={look.value} />
    </section>
  );
}

type ControlsProps = {
  log: FollowedLog;
  look: LogLook;
  change: (part: Partial<LogLook>) => void;
  name: string;
};

function Controls({ log, look, change, name }: ControlsProps) {
  const text = useSignal('');
  const level = useSignal<LogLevel>('DEBUG');
  const filter = (): void => log.filter({ level: level.value, text: text.value });
  return (
    <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
      <label>
        <span class="unseen">Find lines with</span>
        <input
          type="search"
          name="find"
          placeholder="Find"
          value={text.value}
          onInput={({ currentTarget }) => {
            text.value = currentTarget.value;
            filter();
          }}
        />
      </label>
      <Select
        label="From level"
        value={level.value}
        options={LOG_LEVELS.map((one) => [one, one === 'DEBUG' ? 'All' : one] as const)}
        choose={(chosen) => {
          level.value = LOG_LEVELS.find((one) => one === chosen) ?? 'DEBUG';
          filter();
        }}
      />
      <Check label="Times" isOn={look.hasTimes} turn={(hasTimes) => change({ hasTimes })} />
      <Check label="Fields" isOn={look.hasFields} turn={(hasFields) => change({ hasFields })} />
      <Check label="UTC" isOn={look.isUtc} turn={(isUtc) => change({ isUtc })} />
      <Check label="Wrap" isOn={look.wraps} turn={(wraps) => change({ wraps })} />
      <Button label="Download" press={() => download(log, `${name}.log`)} />
    </form>
  );
}

function Check({
  label,
  isOn,
  turn,
}: {
  label: string;
  isOn: boolean;
  turn: (isOn: boolean) => void;
}) {
  return (
    <label>
      <input
        type="checkbox"
        checked={isOn}
        onChange={({ currentTarget }) => turn(currentTarget.checked)}
      />{' '}
      {label}
    </label>
  );
}

/** Saves all lines that are kept as a file, with their times in UTC. */
function download({ lines }: FollowedLog, name: string): void {
  const text = lines.all.map(({ at, level, text: line }) => `${at} ${level} ${line}\n`);
  saveFile(text, { name, type: 'text/plain' });
}

type LogLook = { hasTimes: boolean; hasFields: boolean; wraps: boolean; isUtc: boolean };

const ROW = 20;
/** Lines that are drawn when they wrap, because their heights are not known then. */
const WRAPPED = 2000;

/**
 * The lines in sight. It follows the end until the reader scrolls up, says so, and follows again at the end. It never
 * takes the scroll away from a reader.
 */
function LogRows({ log, look }: { log: FollowedLog; look: LogLook }) {
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
  const drawn = measureRowWindow({
    top: follows.value ? Math.max(0, lines.length * ROW - height.value) : top.value,
    height: height.value,
    row: ROW,
    rows: lines.length,
  });
  const part = look.wraps
    ? lines.slice(-WRAPPED)
    : lines.slice(drawn.first, drawn.first + drawn.count);
  return (
    <div class="log-frame">
      <div
        ref={box}
        class={`log-lines ${look.wraps ? 'wraps' : ''}`}
        role="region"
        aria-label="Lines of the log"
        tabIndex={0}
      >
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
  const cut =
    line.text.length > DRAWN
      ? `${line.text.slice(0, DRAWN)} … ${line.text.length} characters; the download has all`
      : line.text;
  const { message, fields } = readEntry(cut);
  return (
    <div class={`line ${line.isGap === true ? 'gap' : line.level.toLowerCase()}`}>
      {look.hasTimes && line.at !== '' && (
        <time dateTime={line.at} title={line.at}>
          {formatLineTime(line.at, look.isUtc)}{' '}
        </time>
      )}
      {line.isGap !== true && <b>{line.level} </b>}
      <span class="message" title={fields === '' ? undefined : fields}>
        {message}
      </span>
      {look.hasFields && fields !== '' && <span class="quiet"> {fields}</span>}
    </div>
  );
}

/** Returns the clock of a line, behind its day unless that is today. The title of the line has all of it. */
function formatLineTime(at: string, isUtc: boolean): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return at;
  const [day, clock] = formatClock(date, isUtc);
  return day === formatClock(new Date(), isUtc)[0] ? clock : `${day} ${clock}`;
}

function formatClock(date: Date, isUtc: boolean): [day: string, clock: string] {
  // The zone of the machine, as if it were UTC: the standard form has the year first, as logs have it.
  const moved = isUtc ? date : new Date(date.getTime() - date.getTimezoneOffset() * 60_000);
  const text = moved.toISOString();
  return [text.slice(0, 10), text.slice(11, 23)];
}

/** Follows the scrolling of a reader. A scroll that the page itself makes goes to the end, and changes nothing. */
function useScroll(
  box: { current: HTMLDivElement | null },
  {
    follows,
    top,
    height,
  }: { follows: Signal<boolean>; top: Signal<number>; height: Signal<number> },
): void {
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
