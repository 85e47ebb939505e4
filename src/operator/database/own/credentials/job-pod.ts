import type { KubeObject } from '../../../../kube/kube.ts';
import type { DeploymentResource } from '../../../../schema/custom-resources.ts';
import { PASSWORD_TASK } from '../../../../schema/labels.ts';
import type { OperatorDeps } from '../../../family/deps.ts';
import { diagnose, statusOfPod } from '../../../pods/diagnose.ts';
import type { DeploymentWorld } from '../../../deployment/observe.ts';
import { passwordJob, type Given } from './job.ts';

type Scene = { world: DeploymentWorld; signal: AbortSignal; now: Date };

/** Makes the pod that tells the database, unless it is there; what it suffers from. */
export async function tell(deps: OperatorDeps, deployment: DeploymentResource, given: Given, scene: Scene): Promise<string | undefined> {
  const { world, signal, now } = scene;
  const job = passwordJob(deployment, given, deps.settings);
  const pod = podOf(world, job.metadata.name);
  if (pod === undefined) await deps.writer.create(job, signal);
  const patience = { now: now.getTime(), imagePullSeconds: deps.settings.imagePullPatienceSeconds };
  return diagnose(undefined, pod === undefined ? [] : [pod], patience)?.message;
}

/** The pod of a Job by which the database is told something: not one that a node gave up, whose Job makes another. */
export const podOf = ({ passwordPods }: DeploymentWorld, job: string): KubeObject | undefined =>
  passwordPods.find((pod) => pod.metadata.annotations?.[PASSWORD_TASK] === job && statusOfPod(pod).phase !== 'Failed');

/** Its pod has told it. */
export function isDone(world: DeploymentWorld, job: string): boolean {
  const pod = podOf(world, job);
  return pod !== undefined && statusOfPod(pod).phase === 'Succeeded';
}
