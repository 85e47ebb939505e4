import type { KubeObject } from '../../../../kube/kube.ts';
import type { DeploymentResource } from '../../../../schema/platform/custom-resources.ts';
import { PASSWORD_TASK } from '../../../../schema/platform/labels.ts';
import { diagnose, statusOfPod } from '../../../pods/diagnose.ts';
import type { PartDeps } from '../../../reports/part-report.ts';
import type { DatabasePass, DatabaseView } from '../../database.ts';
import { passwordJob, type PasswordTask } from './job.ts';

type Pass = Pick<DatabasePass, 'view' | 'signal' | 'now'>;

/** Makes the pod that changes the password in the database, unless it exists. Returns its problem, if any. */
export async function runTask(deps: PartDeps, deployment: DeploymentResource, task: PasswordTask, pass: Pass): Promise<string | undefined> {
  const { view, signal, now } = pass;
  const job = passwordJob(deployment, task, deps.settings);
  const pod = podOf(view, job.metadata.name);
  if (pod === undefined) await deps.writer.create(job, signal);
  const patience = { now: now.getTime(), imagePullSeconds: deps.settings.imagePullPatienceSeconds };
  return diagnose(undefined, pod === undefined ? [] : [pod], patience)?.message;
}

/** Returns the pod of a Job. One that a node gave up does not count, because its Job makes another. */
export const podOf = ({ passwordPods }: Pick<DatabaseView, 'passwordPods'>, job: string): KubeObject | undefined =>
  passwordPods.find((pod) => pod.metadata.annotations?.[PASSWORD_TASK] === job && statusOfPod(pod).phase !== 'Failed');

/** Returns true when the pod of the Job has done its task. */
export function isDone(view: Pick<DatabaseView, 'passwordPods'>, job: string): boolean {
  const pod = podOf(view, job);
  return pod !== undefined && statusOfPod(pod).phase === 'Succeeded';
}
