import type { KubeObject } from '../../../../kube/kube.ts';
import { DATABASE_ADDRESS } from '../../../../schema/platform/objects/labels.ts';
import { isRolledOut, getReplicas } from '../../../pods/workload-state.ts';
import type { Credential } from './credential.ts';

/**
 * The task of a pod in the database: set the next password, end the former one, or give a database that does not know
 * it the password of today, and end all others.
 */
export type Task = 'set' | 'retire' | 'adopt';

export type RotationStep =
  | { do: 'nothing' }
  | { do: 'make'; number: number }
  | { do: 'run'; task: 'set' | 'retire'; from: Credential; to: Credential }
  | { do: 'use'; to: Credential }
  | { do: 'await-pods'; to: Credential }
  | { do: 'forget'; from: Credential; to: Credential };

export type Rotation = {
  credentials: Credential[];
  /** The Secret that pods are started with today. */
  used: string | undefined;
  /** When the spec asked for a new password. */
  requestedAt: string | undefined;
  isDone: (task: 'set' | 'retire', number: number) => boolean;
  /** Returns true when every running pod has this credential, and none can come back with another. */
  isEverywhere: (secret: string) => boolean;
};

/**
 * Returns the next step of a change of the password. Two logins with the same rights take turns, so that the former one
 * works until the last pod has the next: make the next credential, set it in the database, replace the pods in turn,
 * close the former login, remove its Secret. Each step follows from the objects that exist, so that a crash interrupts
 * nothing. A lost password is followed by the next one.
 */
export function decideRotationStep({
  credentials,
  used,
  requestedAt,
  isDone,
  isEverywhere,
}: Rotation): RotationStep {
  const [from, to] = [credentials.at(-2), credentials.at(-1)];
  if (to === undefined) return { do: 'nothing' };
  if (to.isLost === true) return { do: 'make', number: to.number + 1 };
  if (from === undefined) {
    const isAsked = requestedAt !== undefined && requestedAt !== to.requestedAt;
    return isAsked ? { do: 'make', number: to.number + 1 } : { do: 'nothing' };
  }
  if (used !== to.secret)
    return isDone('set', to.number) ? { do: 'use', to } : { do: 'run', task: 'set', from, to };
  if (!isEverywhere(to.secret)) return { do: 'await-pods', to };
  return isDone('retire', to.number)
    ? { do: 'forget', from, to }
    : { do: 'run', task: 'retire', from, to };
}

/**
 * Returns true when all pods of the deployment read the address from this Secret. Pods that are ending still use the
 * address that they were started with.
 */
export const isUsedEverywhere = (
  { agentPods, workloads }: { agentPods: KubeObject[]; workloads: KubeObject[] },
  secret: string,
): boolean =>
  agentPods.every((pod) => isStamped(pod.metadata.annotations, secret)) &&
  workloads.every(
    (workload) =>
      getReplicas(workload) === 0 ||
      (isRolledOut(workload) && isStamped(getTemplateAnnotations(workload), secret)),
  );

const isStamped = (annotations: Record<string, string> | undefined, secret: string): boolean =>
  annotations?.[DATABASE_ADDRESS]?.startsWith(`${secret}/`) === true;

const getTemplateAnnotations = ({ spec }: KubeObject): Record<string, string> | undefined =>
  (spec as { template?: { metadata?: { annotations?: Record<string, string> } } } | undefined)
    ?.template?.metadata?.annotations;
