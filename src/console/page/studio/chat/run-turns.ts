import type { ListedCall, ListedRun, TimedStep } from '../agent-answers.ts';
import { listLineage } from '../history/lineage.ts';
import { describeUnreported, describeUsage } from '../usage-text.ts';

/** A step of a run: its nodes, how long they took, and how many messages stood before and behind it. */
export type RunStep = {
  nodes: string[];
  milliseconds: number | undefined;
  from: number;
  to: number;
};

/** A run of a thread: how many messages stand before its end, its steps, and the tokens and the price of its models. */
export type RunTurn = {
  run: string;
  behind: number;
  status: string;
  milliseconds: number | undefined;
  steps: RunStep[];
  usage: string;
  /** The sentence about calls that reported no tokens. */
  unreported: string;
  calls: ListedCall[];
};

/** LangGraph's own node, which writes the input. */
const START = '__start__';

/** Returns the runs that led to a checkpoint, the oldest first, as far as their steps are known. */
export function listRunTurns(
  steps: readonly TimedStep[],
  newest: string,
  { runs, calls }: { runs: readonly ListedRun[]; calls: readonly ListedCall[] },
): RunTurn[] {
  const lineage = new Set(listLineage(steps, newest));
  const own = steps.filter(({ id }) => lineage.has(id)).toReversed();
  const known = new Map(runs.map((run) => [run.id, run]));
  const turns = new Map<string, RunTurn>();
  for (const [index, after] of own.entries()) {
    const before = own[index - 1];
    if (after.run === '') continue;
    const run = known.get(after.run);
    const begun = Date.parse(run?.begunAt ?? '');
    const turn = turns.get(after.run) ?? {
      run: after.run,
      behind: 0,
      status: run?.status ?? '',
      milliseconds: undefined,
      steps: [],
      usage: describeUsage(run?.usage),
      unreported: describeUnreported(run?.usage),
      calls: calls.filter((call) => call.run === after.run),
    };
    const step = before?.id === after.parent ? readStep(before, after, begun) : undefined;
    turns.set(after.run, {
      ...turn,
      behind: after.messages,
      milliseconds: measureBetween(begun, Date.parse(after.madeAt)),
      steps: step === undefined ? turn.steps : [...turn.steps, step],
    });
  }
  return [...turns.values()];
}

/** Returns the step between two checkpoints; undefined where an input or a person wrote the second one. */
function readStep(before: TimedStep, after: TimedStep, begun: number): RunStep | undefined {
  if (after.source !== 'loop') return undefined;
  const nodes = [...new Set(before.next)].filter((name) => name !== START);
  if (nodes.length === 0) return undefined;
  // A thread may have waited for days before the run that goes on with it.
  const start = [Date.parse(before.madeAt), begun].filter((at) => !Number.isNaN(at));
  const end = Date.parse(after.madeAt);
  return {
    nodes,
    milliseconds: measureBetween(Math.max(...start), end),
    from: before.messages,
    to: after.messages,
  };
}

/** Returns the time between two moments; undefined where one of them is not known, or clocks differ. */
const measureBetween = (from: number, to: number): number | undefined =>
  Number.isFinite(to - from) && to >= from ? to - from : undefined;
