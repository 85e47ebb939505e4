import { ASLEEP, HIBERNATED } from '../../schema/conditions.ts';
import type { DatabaseView } from '../database/database.ts';
import { databaseOf } from '../database/engines.ts';
import { settled, waiting, type ReconcileOutcome, type StatedCondition } from '../kernel/outcome.ts';
import { areAgentsGone } from '../pods/workload-state.ts';
import type { Facts } from './part.ts';

/** Whether a deployment has no pods because its owner says so, or because nobody needs it. */
export type Resting = {
  hibernates: boolean;
  /** True while it hibernates or sleeps. */
  isResting: boolean;
  /** True once no pod of it is left that is to stop. */
  stopped: boolean;
};

/** Returns how a deployment rests. */
export function restOf(facts: Pick<Facts, 'deployment' | keyof DatabaseView>): Resting {
  const { spec } = facts.deployment;
  const hibernates = spec.hibernate === true;
  const areGone = areAgentsGone(facts.workloads, facts.agentPods);
  const stopped = areGone && (!hibernates || databaseOf(spec).isStopped(facts));
  return { hibernates, isResting: hibernates || facts.isAsleep, stopped };
}

/** Returns the outcome while its pods stop or are stopped, because its owner says so or nobody needs it. */
export function outcomeOfRest({ hibernates, stopped }: Resting, serving: StatedCondition): ReconcileOutcome {
  // A workload may report later than its pods that they are gone.
  const isDone = stopped && serving.status !== 'True';
  if (hibernates)
    return isDone ? settled('All pods are stopped; the data is kept.', HIBERNATED) : waiting('Hibernating', 'The pods are being stopped.');
  return isDone
    ? settled('It sleeps, and wakes when somebody needs it.', ASLEEP)
    : waiting('FallingAsleep', 'It falls asleep: the pods are being stopped.');
}
