import { useSignal } from '@preact/signals';
import { Button } from '../../shell/controls.tsx';
import { Icon } from '../../shell/icon.tsx';
import type { IconName } from '../../shell/icons.ts';
import { formatNames } from '../state-text.ts';
import { describeCall, formatDuration } from '../usage-text.ts';
import type { LiveRun } from './live-run.ts';
import type { RunStep, RunTurn } from './run-turns.ts';

/** Steps of a run that are listed. */
const MOST_STEPS = 50;

/** The steps, the time, the tokens and the price of a run, on one line. It opens to the steps. */
export function RunCard({ turn }: { turn: RunTurn }) {
  const isOpen = useSignal(false);
  const { steps, milliseconds, usage, unreported, calls, status } = turn;
  const longest = Math.max(1, ...steps.map((step) => step.milliseconds ?? 0));
  const facts = [
    steps.length === 0 ? '' : steps.length === 1 ? '1 step' : `${steps.length} steps`,
    milliseconds === undefined ? '' : formatDuration(milliseconds),
    usage.replace(' in,', ' tokens in,'),
  ].filter((one) => one !== '');
  return (
    <div class="run">
      <Button
        class="plain quiet"
        disabled={steps.length + calls.length === 0}
        aria-expanded={isOpen.value}
        title="The steps of this run"
        label={
          <>
            <Icon name={SIGNS.get(status) ?? 'bolt'} /> {facts.join(' · ')}
          </>
        }
        press={() => (isOpen.value = !isOpen.value)}
      />
      {unreported !== '' && <p class="quiet">{unreported}</p>}
      {isOpen.value && (
        <ol class="run-steps">
          {steps.slice(-MOST_STEPS).map((step, at) => (
            <StepShown key={at} step={step} longest={longest} />
          ))}
        </ol>
      )}
      {isOpen.value && calls.length > 0 && (
        <ol class="run-steps" aria-label="Calls of models">
          {calls.slice(-MOST_STEPS).map((call, at) => (
            <li key={at}>
              <bdi>{call.model === '' ? 'model' : call.model}</bdi>
              <span class="quiet">{call.node}</span>
              <span class="quiet">{describeCall(call)}</span>
            </li>
          ))}
        </ol>
      )}
    </div>
  );
}

/** The signs of ends that are no success. */
const SIGNS = new Map<string, IconName>([
  ['error', 'cross'],
  ['interrupted', 'pause'],
  ['timeout', 'clock'],
]);

/** A step with a bar that is as long as it took, beside the longest one. */
function StepShown({
  step: { nodes, milliseconds, from, to },
  longest,
}: {
  step: RunStep;
  longest: number;
}) {
  const written = to - from;
  return (
    <li>
      <bdi>{formatNames(nodes)}</bdi>
      <span class="bar" aria-hidden="true">
        <span style={{ width: `${(100 * (milliseconds ?? 0)) / longest}%` }} />
      </span>
      <span class="quiet">
        {milliseconds === undefined ? '-' : formatDuration(milliseconds)}
        {written > 0 && ` · ${written === 1 ? '1 message' : `${written} messages`}`}
      </span>
    </li>
  );
}

/** The nodes that work now, as long as a run is under way. */
export function WorkShown({ nodes }: { nodes: LiveRun['nodes'] }) {
  const busy = [...nodes].filter(([, { running }]) => running > 0).map(([name]) => name);
  return (
    <div class="work quiet">
      <Icon name="turn" turns />{' '}
      <span>{busy.length === 0 ? 'Working' : `Working: ${formatNames(busy)}`}</span>
    </div>
  );
}
