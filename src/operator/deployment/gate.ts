import type { DeploymentResource } from '../../schema/platform/custom-resources.ts';
import { gateId, type CandidateRevision } from '../../schema/platform/rollout-spec.ts';
import { GATE_SECONDS, gateInput } from '../../schema/platform/rollout-trial.ts';
import type { GateReport } from '../../schema/wire/work-report.ts';

/* The run that a revision must end with success before it gets a share. */

type GateFacts = { deployment: DeploymentResource; now: Date };

/** Returns true while the run of its gate has not succeeded. */
export const isAtGate = ({ gate }: CandidateRevision, { spec }: DeploymentResource): boolean =>
  gate !== undefined && gate.passed !== true && spec.rollout?.gate !== undefined;

/** Returns the fields of a revision that is through its gate. */
export const passedGate = ({ gate }: CandidateRevision): Pick<CandidateRevision, 'gate'> =>
  gate ? { gate: { ...gate, passed: true } } : {};

/** Returns the last word of the agents, if it is about the gate that a revision is at. */
const wordOn = (candidate: CandidateRevision, last: GateReport | undefined): GateReport | undefined =>
  candidate.gate !== undefined && last?.id === gateId(candidate, candidate.gate) ? last : undefined;

/** Returns true if the run of its gate has succeeded, by the last word of the agents. */
export const succeededAtGate = (candidate: CandidateRevision, last: GateReport | undefined): boolean =>
  wordOn(candidate, last)?.status === 'success';

const secondsOf = ({ spec }: DeploymentResource): number => spec.rollout?.gate?.seconds ?? GATE_SECONDS;

/** Returns the seconds that the run has left. */
export const gateSecondsLeft = ({ gate }: CandidateRevision, { deployment, now }: GateFacts): number =>
  Math.ceil(secondsOf(deployment) - (now.getTime() - Date.parse(gate?.since ?? now.toISOString())) / 1000);

/** Returns why a revision does not come through its gate. Undefined: it is not at one, or still may. */
export function failedGate(candidate: CandidateRevision, facts: GateFacts & { gate: GateReport | undefined }): string | undefined {
  const { deployment, gate } = facts;
  if (!isAtGate(candidate, deployment) || candidate.promoted === true) return undefined;
  if (gateInput(deployment.spec.rollout!.gate!) === undefined) return 'The gate failed: spec.rollout.gate.input is no JSON object.';
  const { status, message = 'its run' } = wordOn(candidate, gate) ?? {};
  if (status === 'error' || status === 'interrupted') return `The gate failed: ${status}, ${message}.`.slice(0, 1024);
  if (status === 'success' || gateSecondsLeft(candidate, facts) > 0) return undefined;
  return `The gate failed: its run did not succeed within ${secondsOf(deployment)} s.`;
}
