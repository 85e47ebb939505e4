import { useSignal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef, useMemo } from 'preact/hooks';
import type { DeploymentSummary } from '../../../schema/platform/deployment/deployment-summary.ts';
import { useKeys } from '../shell/keys.ts';
import type { ListFilter, SortColumn } from './list-query.ts';
import { measureRowWindow } from '../shell/row-window.ts';
import { useApp } from '../shell/app.ts';
import { Icon } from '../shell/icon.tsx';
import { Time } from '../shell/time.tsx';
import { formatCommit, formatSource } from './source-text.ts';
import { StateShown } from './state-shown.tsx';

const NARROW = '(max-width: 48rem)';
const HEIGHT = { wide: 44, narrow: 76 };

type RowsProps = {
  rows: readonly DeploymentSummary[];
  filter: ListFilter;
  change: (part: Partial<ListFilter>) => void;
};

/** The rows in sight of a list of any length. */
export function Rows({ rows, filter, change }: RowsProps) {
  const box = useRef<HTMLDivElement>(null);
  const { top, height } = useScrolled(box);
  const row = useNarrow() ? HEIGHT.narrow : HEIGHT.wide;
  const active = useSignal(0);
  const last = Math.min(active.value, Math.max(0, rows.length - 1));
  const drawn = measureRowWindow({ top: top.value, height: height.value, row, rows: rows.length });
  const move = (by: number): void => {
    const next = Math.min(Math.max(0, last + by), rows.length - 1);
    active.value = next;
    scrollIntoSight(box.current, next, row);
  };
  useKeys({ next: () => move(isIn(box.current) ? 1 : 0), previous: () => move(-1) });
  return (
    <div
      ref={box}
      class="rows"
      style={findHeight(rows.length * row)}
      role="grid"
      aria-label="Deployments"
      aria-rowcount={rows.length + 1}
      aria-colcount={9}
    >
      <Head filter={filter} change={change} />
      <div role="rowgroup" class="body" onFocusIn={({ target }) => noteActive(target, active)}>
        <div role="presentation" style={{ height: `${drawn.before}px` }} />
        {rows.slice(drawn.first, drawn.first + drawn.count).map((one, at) => {
          const index = drawn.first + at;
          // The element of a row that leaves the sight is used again for one that comes into it.
          return (
            <DeploymentRow
              key={index % drawn.slots}
              row={one}
              index={index}
              isActive={index === last}
              height={row}
            />
          );
        })}
        <div role="presentation" style={{ height: `${drawn.behind}px` }} />
      </div>
    </div>
  );
}

/** Pixels that no screen shows. Rows that are higher fill the page, and keep its layout while a filter is typed. */
const BEYOND_A_SCREEN_PX = 3000;

/** Returns the style by which a short list ends with its rows. */
const findHeight = (pixels: number) =>
  pixels < BEYOND_A_SCREEN_PX ? { maxHeight: `calc(2.1rem + ${pixels + 2}px)` } : undefined;

const HEADS: readonly { label: string; sort?: SortColumn; kind: string }[] = [
  { label: 'Name', sort: 'name', kind: 'name' },
  { label: 'State', sort: 'state', kind: 'how' },
  { label: 'Newest revision', kind: 'revision' },
  { label: 'Source', kind: 'source' },
  { label: 'Version', kind: 'version' },
  { label: 'Queue', kind: 'queue' },
  { label: 'Waiting', kind: 'people' },
  { label: 'Cost today', kind: 'cost' },
  { label: 'Updated', sort: 'updated_at', kind: 'updated' },
];

function Head({ filter, change }: Omit<RowsProps, 'rows'>) {
  return (
    <div role="rowgroup" class="head">
      <div role="row" aria-rowindex={1} class="row">
        {HEADS.map(({ label, sort, kind }) => (
          <div
            key={label}
            role="columnheader"
            class={kind}
            aria-sort={
              sort === undefined || sort !== filter.sort
                ? undefined
                : filter.isDown
                  ? 'descending'
                  : 'ascending'
            }
          >
            {sort === undefined ? (
              label
            ) : (
              <button
                type="button"
                class="plain"
                onClick={() => change({ sort, isDown: filter.sort === sort && !filter.isDown })}
              >
                {label}
                <span aria-hidden="true">
                  {sort !== filter.sort ? '' : filter.isDown ? ' ↓' : ' ↑'}
                </span>
              </button>
            )}
          </div>
        ))}
      </div>
    </div>
  );
}

/** Follows where a box is scrolled to, and how high it is. The history keeps the place, so that Back comes to it. */
function useScrolled(box: { current: HTMLDivElement | null }) {
  const top = useSignal(0);
  const height = useSignal(800);
  useLayoutEffect(() => {
    const { current } = box;
    if (current === null) return undefined;
    const kept = (history.state as { top?: number } | null)?.top ?? 0;
    const measure = (): void => void (height.value = current.clientHeight);
    const watch = new ResizeObserver(measure);
    watch.observe(current);
    measure();
    top.value = kept;
    requestAnimationFrame(() => current.scrollTo({ top: kept }));
    let timer: ReturnType<typeof setTimeout> | undefined;
    const scroll = (): void => {
      top.value = current.scrollTop;
      clearTimeout(timer);
      timer = setTimeout(
        () => history.replaceState({ ...history.state, top: current.scrollTop }, ''),
        150,
      );
    };
    current.addEventListener('scroll', scroll, { passive: true });
    return () => {
      clearTimeout(timer);
      watch.disconnect();
      current.removeEventListener('scroll', scroll);
    };
  }, []);
  return { top, height };
}

function useNarrow(): boolean {
  const isNarrow = useSignal(matchMedia(NARROW).matches);
  useEffect(() => {
    const query = matchMedia(NARROW);
    const handleChange = (): void => void (isNarrow.value = query.matches);
    query.addEventListener('change', handleChange);
    return () => query.removeEventListener('change', handleChange);
  }, []);
  return isNarrow.value;
}

const isIn = (box: HTMLElement | null): boolean =>
  box?.querySelector('.body')?.contains(document.activeElement) === true;
const findRowLink = (box: HTMLElement | null, index: number): HTMLElement | null =>
  box?.querySelector<HTMLElement>(`a[data-index="${index}"]`) ?? null;

function noteActive(target: EventTarget | null, active: { value: number }): void {
  const index = target instanceof HTMLElement ? Number(target.dataset['index']) : NaN;
  if (!Number.isNaN(index)) active.value = index;
}

function scrollIntoSight(box: HTMLElement | null, index: number, row: number): void {
  if (box === null) return;
  const head = box.querySelector<HTMLElement>('.head')?.offsetHeight ?? 0;
  const [from, to] = [index * row, (index + 1) * row + head];
  if (from < box.scrollTop) box.scrollTo({ top: from });
  else if (to > box.scrollTop + box.clientHeight) box.scrollTo({ top: to - box.clientHeight });
  const link = findRowLink(box, index);
  // A row that was out of sight is drawn by the next frame but one.
  if (link === null)
    requestAnimationFrame(() =>
      requestAnimationFrame(() => findRowLink(box, index)?.focus({ preventScroll: true })),
    );
  else link.focus({ preventScroll: true });
}

type RowProps = { row: DeploymentSummary; index: number; isActive: boolean; height: number };

/** A row of the list. Of all rows, the link of the active one alone is in the order of the Tab key. */
function DeploymentRow({ row, index, isActive, height }: RowProps) {
  const link = useRef<HTMLAnchorElement>(null);
  // The focus does not go with the element to another row.
  useLayoutEffect(() => () => link.current?.blur(), [index]);
  return useMemo(
    () => <Cells row={row} index={index} isActive={isActive} height={height} link={link} />,
    [row, index, isActive, height],
  );
}

function Cells({
  row,
  index,
  isActive,
  height,
  link,
}: RowProps & { link: { current: HTMLAnchorElement | null } }) {
  const { router } = useApp();
  const { latest_revision: latest } = row;
  return (
    <div
      role="row"
      aria-rowindex={index + 2}
      class={`row ${row.state}`}
      style={{ height: `${height}px` }}
    >
      <div role="gridcell" class="name">
        <a
          ref={link}
          href={router.buildHref('deployment', { id: row.id })}
          tabIndex={isActive ? 0 : -1}
          data-index={index}
        >
          {row.name}
        </a>
        <span class="quiet">{row.namespace}</span>
      </div>
      <div role="gridcell" class="how" title={row.message ?? undefined}>
        <StateShown state={row.state} reason={row.reason} suspended={row.suspended} />
        {row.state === 'asleep' && (
          <span class="quiet">
            {row.next_due_at === null ? 'until it is called' : <Due at={row.next_due_at} />}
          </span>
        )}
      </div>
      <div role="gridcell" class="revision">
        {latest === null
          ? ''
          : `#${latest.number} ${latest.status.toLowerCase().replaceAll('_', ' ')}`}
      </div>
      <div role="gridcell" class="source" title={row.image_uri ?? row.repo_url ?? undefined}>
        {formatSource(row)}
        {row.repo_commit_sha !== null && <code> {formatCommit(row.repo_commit_sha)}</code>}
      </div>
      <div role="gridcell" class="version">
        {row.image_version ?? ''}
      </div>
      <Work row={row} />
      <div role="gridcell" class="updated">
        <Time at={row.updated_at} />
      </div>
    </div>
  );
}

const Work = ({
  row: { queue, interrupted_threads: people, usage_today: used },
}: Pick<RowProps, 'row'>) => (
  <>
    <div role="gridcell" class="queue" title="Ready queue pods, of the desired number">
      {queue.wanted === null ? '' : `${queue.ready ?? 0}/${queue.wanted}`}
    </div>
    <div role="gridcell" class="people" title="Threads that wait for a person to answer">
      {(people ?? 0) > 0 && (
        <span class="badge">
          <Icon name="person" /> {people}
        </span>
      )}
    </div>
    <div role="gridcell" class="cost" title="The price of today's calls of models, of UTC">
      {formatPrice(used?.cost_usd)}
    </div>
  </>
);

const formatPrice = (cost: number | null | undefined): string =>
  typeof cost === 'number' ? `$${cost.toFixed(2)}` : '';

const Due = ({ at }: { at: string }) => (
  <>
    wakes <Time at={at} isToCome />
  </>
);
