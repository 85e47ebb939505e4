import { useComputed, useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { rowWindow } from '../../deployments/row-window.ts';
import type { ListedCheckpoint } from '../agent-answers.ts';
import { checkpointWords, namesText } from '../state-text.ts';
import { lanesOf } from './lanes.ts';
import type { TimeTravel } from './time-travel.ts';

const ROW = 30;
const HEIGHT = 360;
const LANE = 14;
/** Lanes that are drawn. Branches beyond them share the last one. */
const LANES = 12;

const middle = (lane: number): number => LANE / 2 + Math.min(lane, LANES - 1) * LANE;

/** The checkpoints of a thread, the newest first, with branches beside each other. Only those in sight are drawn. */
export function CheckpointList({ travel, checkpoints }: { travel: TimeTravel; checkpoints: readonly ListedCheckpoint[] }) {
  const top = useSignal(0);
  const box = useRef<HTMLDivElement>(null);
  const rows = useComputed(() => lanesOf(travel.checkpoints.value ?? []));
  const { first, count, before, behind } = rowWindow({ top: top.value, height: HEIGHT, row: ROW, rows: checkpoints.length });
  const chosen = checkpoints.findIndex(({ id }) => id === travel.chosen.value?.id);
  const width = Math.min(LANES, Math.max(1, ...rows.value.map(({ lane, passing }) => Math.max(lane, ...passing) + 1))) * LANE;
  const press = (event: KeyboardEvent): void => moveBy(event, { travel, checkpoints, chosen, box: box.current });
  return (
    <div
      ref={box}
      class="checkpoints"
      role="listbox"
      tabIndex={0}
      aria-label="Checkpoints"
      aria-activedescendant={chosen < first || chosen >= first + count ? undefined : `checkpoint-${chosen}`}
      onKeyDown={press}
      onScroll={({ currentTarget }) => (top.value = currentTarget.scrollTop)}
    >
      <div role="presentation" style={{ height: `${before}px` }} />
      {checkpoints.slice(first, first + count).map((one, at) => {
        const index = first + at;
        return (
          <div
            key={one.id}
            id={`checkpoint-${index}`}
            role="option"
            aria-selected={index === chosen}
            aria-setsize={checkpoints.length}
            aria-posinset={index + 1}
            style={{ height: `${ROW}px` }}
            onClick={() => travel.choose(one)}
          >
            <Lanes row={rows.value[index]} width={width} isLast={index === checkpoints.length - 1} />
            <span>{checkpointWords(one.metadata)}</span>
            {one.next.length > 0 && <span class="quiet">next {namesText(one.next)}</span>}
          </div>
        );
      })}
      <div role="presentation" style={{ height: `${behind}px` }} />
    </div>
  );
}

type Moved = { travel: TimeTravel; checkpoints: readonly ListedCheckpoint[]; chosen: number; box: HTMLElement | null };

/** Chooses the next or the one before by an arrow, and brings it into sight. */
function moveBy(event: KeyboardEvent, { travel, checkpoints, chosen, box }: Moved): void {
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key] ?? 0;
  const next = checkpoints[chosen + by];
  if (by === 0 || next === undefined) return;
  event.preventDefault();
  event.stopPropagation();
  travel.choose(next);
  const place = (chosen + by) * ROW;
  if (box !== null && (place < box.scrollTop || place > box.scrollTop + HEIGHT - 2 * ROW)) box.scrollTop = place - HEIGHT / 2;
}

type LanesProps = { row: ReturnType<typeof lanesOf>[number] | undefined; width: number; isLast: boolean };

function Lanes({ row, width, isLast }: LanesProps) {
  if (row === undefined) return null;
  const own = middle(row.lane);
  return (
    <svg width={width} height={ROW} aria-hidden="true">
      {row.passing.map((lane) => (
        <path key={lane} d={`M${middle(lane)} 0V${ROW}`} />
      ))}
      {row.joined.map((lane) => (
        <path key={`from ${lane}`} d={`M${middle(lane)} 0L${own} ${ROW / 2}`} />
      ))}
      {!row.isRoot && !isLast && <path d={`M${own} ${ROW / 2}V${ROW}`} />}
      {row.hasChild && <path d={`M${own} 0V${ROW / 2}`} />}
      <circle cx={own} cy={ROW / 2} r={4} />
    </svg>
  );
}
