import { useSignal, useComputed } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { Time } from '../../shell/time.tsx';
import { usePage } from '../../shell/page-parts.ts';
import { saveFile } from '../../shell/save-file.ts';
import { parseJson } from '../forms/schema-fields.ts';
import { ChangesShown } from '../json/changes-shown.tsx';
import { SearchedState } from '../records/state-view.tsx';
import { formatNames, describeCheckpoint } from '../state-text.ts';
import { formatDuration } from '../usage-text.ts';
import { useStudio } from '../studio-parts.ts';
import { TimeTravel } from './time-travel.ts';
import { Button, EmptyState, Fault, Select, Skeleton, TextArea } from '../../shell/controls.tsx';
import { measureRowWindow } from '../../shell/row-window.ts';
import type { ListedCheckpoint } from '../agent-answers.ts';
import { buildLanes } from './lanes.ts';

/** The checkpoints of a thread as a tree, the state at one of them, and the ways on from there. */
export function History({ thread, changed }: { thread: string; changed: () => void }) {
  const { agent } = useStudio();
  const travel = useMemo(() => new TimeTravel(agent, thread), [agent, thread]);
  useEffect(() => travel.begin(), [travel]);
  const { checkpoints, refused, state, changes } = travel;
  return (
    <>
      <Fault text={refused.value} />
      {checkpoints.value === undefined && refused.value === undefined && <Skeleton lines={6} />}
      {checkpoints.value?.length === 0 && (
        <EmptyState icon="clock" title="It has no checkpoint yet." />
      )}
      {checkpoints.value !== undefined && checkpoints.value.length > 0 && (
        <CheckpointList travel={travel} checkpoints={checkpoints.value} />
      )}
      <ChosenStep travel={travel} changed={changed} />
      {state.value !== undefined && state.value.fault !== '' && (
        <Fault
          text={`The graph refuses this state, so it can only run from an earlier one. ${state.value.fault}`}
        />
      )}
      {changes.value !== undefined && (
        <>
          <h3>Changed by this step</h3>
          <ChangesShown changes={changes.value} nothing="Nothing has changed." />
        </>
      )}
      {state.value !== undefined && (
        <>
          <h3>State</h3>
          <SearchedState json={state.value.json} values={state.value.values} />
        </>
      )}
    </>
  );
}

function ChosenStep({ travel, changed }: { travel: TimeTravel; changed: () => void }) {
  const { value: chosen } = travel.chosen;
  if (chosen === undefined) return null;
  return (
    <>
      <p class="quiet">
        Made <Time at={chosen.madeAt} />.{' '}
        {chosen.next.length > 0 ? `Next: ${formatNames(chosen.next)}.` : 'Nothing follows.'}
      </p>
      <StepActions travel={travel} changed={changed} />
    </>
  );
}

function StepActions({ travel, changed }: { travel: TimeTravel; changed: () => void }) {
  const { mayAct, readOnly, go } = useStudio();
  const page = usePage();
  const isWriting = useSignal(false);
  const isOff = !mayAct || travel.isBusy.value;
  const run = async (): Promise<void> => {
    if (!(await travel.runFromHere())) return;
    changed();
    const { next = [] } = travel.checkpoints.value?.[0] ?? {};
    page.announce(
      next.length === 0
        ? 'The run has ended.'
        : `The run has stopped before ${formatNames(next)}. The thread waits.`,
    );
  };
  const copy = async (): Promise<void> => {
    const made = await travel.copy();
    if (made !== undefined) go(made);
  };
  const save = async (): Promise<void> => {
    const parts = await travel.testCase();
    if (parts !== undefined)
      saveFile(parts, {
        name: `test-case-${travel.chosen.value?.id ?? ''}.json`,
        type: 'application/json',
      });
  };
  return (
    <>
      <p class="actions">
        <Button
          class="main"
          disabled={isOff || travel.explainVersionFault() !== undefined}
          label={travel.isBusy.value ? 'Running …' : 'Run from here'}
          press={() => run()}
        />
        <OtherAssistant travel={travel} isOff={isOff} />
        <OtherVersion travel={travel} isOff={isOff} />
      </p>
      <p class="actions">
        <Button
          disabled={isOff}
          aria-expanded={isWriting.value}
          label="Edit state"
          press={() => (isWriting.value = !isWriting.value)}
        />
        <Button
          disabled={travel.chosen.value?.parent === '' || travel.state.value === undefined}
          label="Compare with previous"
          press={() => travel.compare()}
        />
        <Button disabled={isOff} label="Copy the thread" press={() => copy()} />
        <Button
          disabled={travel.state.value === undefined}
          label="Save as a test case"
          press={() => save()}
        />
        {!mayAct && <span class="quiet">{readOnly}</span>}
      </p>
      {travel.explainVersionFault() !== undefined && (
        <p class="note">{travel.explainVersionFault()}</p>
      )}
      {isWriting.value && (
        <StateWriter
          travel={travel}
          done={() => {
            isWriting.value = false;
            changed();
          }}
        />
      )}
    </>
  );
}

function OtherAssistant({ travel, isOff }: { travel: TimeTravel; isOff: boolean }) {
  const { value: assistants } = travel.assistants;
  if (assistants.length < 2) return null;
  const others = assistants.map(
    ({ id, name, graph }) => [id, name === graph ? name : `${name} (${graph})`] as const,
  );
  const options = [['', 'the same assistant'] as const, ...others];
  const { value } = travel.assistant;
  return (
    <Select
      label="with"
      name="replay"
      disabled={isOff}
      value={value}
      options={options}
      choose={(id) => travel.take(id)}
    />
  );
}

function OtherVersion({ travel, isOff }: { travel: TimeTravel; isOff: boolean }) {
  const { value: versions } = travel.versions;
  if (versions.length < 2) return null;
  const options = versions.map(
    ({ version, graph }) => [String(version), `${version} (${graph})`] as const,
  );
  return (
    <Select
      label="version"
      name="replay_version"
      disabled={isOff}
      value={travel.version.value ?? ''}
      options={[['', 'the one in use'], ...options]}
      choose={(value) => (travel.version.value = value === '' ? undefined : Number(value))}
    />
  );
}

function StateWriter({ travel, done }: { travel: TimeTravel; done: () => void }) {
  const text = useSignal('{}');
  const fault = useSignal<string | undefined>(undefined);
  const send = async (event: Event): Promise<void> => {
    event.preventDefault();
    const read = parseJson(text.value);
    fault.value = 'fault' in read ? read.fault : undefined;
    if ('value' in read && (await travel.write(read.value))) done();
  };
  return (
    <form class="say" onSubmit={(event) => void send(event)}>
      <label class="field">
        <span>Fields to write, as JSON</span>
        <TextArea rows={5} class="mono" name="values" of={text} />
        <span class="quiet">
          They go through the reducers of the graph: a list that has one gets these items besides,
          and a message takes the place of the one with its id. The result is a new checkpoint
          behind the chosen one.
        </span>
      </label>
      {fault.value !== undefined && <p class="wrong">{fault.value}</p>}
      <Button class="main" disabled={travel.isBusy.value} label="Write" />
    </form>
  );
}

const ROW = 30;
const HEIGHT = 240;
const LANE = 14;
/** Lanes that are drawn. Branches beyond them share the last one. */
const LANES = 12;

const measureMiddle = (lane: number): number => LANE / 2 + Math.min(lane, LANES - 1) * LANE;

/** The checkpoints of a thread, the newest first, with branches beside each other. Only those in sight are drawn. */
function CheckpointList({
  travel,
  checkpoints,
}: {
  travel: TimeTravel;
  checkpoints: readonly ListedCheckpoint[];
}) {
  const top = useSignal(0);
  const box = useRef<HTMLDivElement>(null);
  const rows = useComputed(() => buildLanes(travel.checkpoints.value ?? []));
  const parents = useComputed(
    () => new Map((travel.checkpoints.value ?? []).map((one) => [one.id, one])),
  );
  const { first, count, before, behind } = measureRowWindow({
    top: top.value,
    height: HEIGHT,
    row: ROW,
    rows: checkpoints.length,
  });
  const chosen = checkpoints.findIndex(({ id }) => id === travel.chosen.value?.id);
  const width =
    Math.min(
      LANES,
      Math.max(1, ...rows.value.map(({ lane, passing }) => Math.max(lane, ...passing) + 1)),
    ) * LANE;
  const press = (event: KeyboardEvent): void =>
    moveChoice(event, { travel, checkpoints, chosen, box: box.current });
  return (
    <div
      ref={box}
      class="checkpoints"
      style={{ height: `${Math.min(HEIGHT, checkpoints.length * ROW + 4)}px` }}
      role="listbox"
      tabIndex={0}
      aria-label="Checkpoints"
      aria-activedescendant={
        chosen < first || chosen >= first + count ? undefined : `checkpoint-${chosen}`
      }
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
            <Lanes
              row={rows.value[index]}
              width={width}
              isLast={index === checkpoints.length - 1}
            />
            <StepOfCheckpoint made={one} parent={parents.value.get(one.parent)} />
          </div>
        );
      })}
      <div role="presentation" style={{ height: `${behind}px` }} />
    </div>
  );
}

/** A checkpoint with the nodes whose step made it, and how long they took; else with the nodes that work next. */
function StepOfCheckpoint({
  made,
  parent,
}: {
  made: ListedCheckpoint;
  parent: ListedCheckpoint | undefined;
}) {
  const words = describeCheckpoint(made.metadata);
  const nodes = made.metadata['source'] === 'loop' ? listWorkers(parent?.next ?? []) : [];
  if (nodes.length === 0)
    return (
      <>
        <span>{words}</span>
        {made.next.length > 0 && <span class="quiet">then {formatNames(made.next)}</span>}
      </>
    );
  const took = Date.parse(made.madeAt) - Date.parse(parent?.madeAt ?? '');
  return (
    <>
      <span>{`${words} · ${formatNames(nodes)}`}</span>
      {took >= 0 && took < LONGEST_STEP && <span class="quiet">{formatDuration(took)}</span>}
    </>
  );
}

/** Milliseconds of a step. One that seems longer has waited for a person, or for another run. */
const LONGEST_STEP = 3_600_000;

const listWorkers = (next: readonly string[]): string[] =>
  [...new Set(next)].filter((name) => name !== '__start__');

type Moved = {
  travel: TimeTravel;
  checkpoints: readonly ListedCheckpoint[];
  chosen: number;
  box: HTMLElement | null;
};

/** Chooses the next or the one before by an arrow, and brings it into sight. */
function moveChoice(event: KeyboardEvent, { travel, checkpoints, chosen, box }: Moved): void {
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key] ?? 0;
  const next = checkpoints[chosen + by];
  if (by === 0 || next === undefined) return;
  event.preventDefault();
  event.stopPropagation();
  travel.choose(next);
  const place = (chosen + by) * ROW;
  if (box !== null && (place < box.scrollTop || place > box.scrollTop + HEIGHT - 2 * ROW))
    box.scrollTop = place - HEIGHT / 2;
}

function Lanes({
  row,
  width,
  isLast,
}: {
  row: ReturnType<typeof buildLanes>[number] | undefined;
  width: number;
  isLast: boolean;
}) {
  if (row === undefined) return null;
  const own = measureMiddle(row.lane);
  return (
    <svg width={width} height={ROW} aria-hidden="true">
      {row.passing.map((lane) => (
        <path key={lane} d={`M${measureMiddle(lane)} 0V${ROW}`} />
      ))}
      {row.joined.map((lane) => (
        <path key={`from ${lane}`} d={`M${measureMiddle(lane)} 0L${own} ${ROW / 2}`} />
      ))}
      {!row.isRoot && !isLast && <path d={`M${own} ${ROW / 2}V${ROW}`} />}
      {row.hasChild && <path d={`M${own} 0V${ROW / 2}`} />}
      <circle cx={own} cy={ROW / 2} r={4} />
    </svg>
  );
}
