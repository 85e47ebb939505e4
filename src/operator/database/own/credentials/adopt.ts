import { kinds } from '../../../../kube/kinds.ts';
import type { DeploymentResource } from '../../../../schema/platform/resources/custom-resources.ts';
import { names } from '../../../../schema/names.ts';
import type { OperatorDeps } from '../../../view/deps.ts';
import type { JobHindrance } from '../../../pods/job-state.ts';
import type { DatabasePass } from '../../database.ts';
import { findPasswordNumber } from './lost.ts';
import { isDone, runTask } from './rotate.ts';

/**
 * Gives a database on another volume the password of today, which that volume may not know. The first password needs
 * nothing: a volume that was in use before knows it, and a new one is made with it.
 */
export async function adoptPassword(
  deps: OperatorDeps,
  deployment: DeploymentResource,
  {
    secret,
    ...pass
  }: Pick<DatabasePass, 'view' | 'signal' | 'now'> & {
    /** The Secret with the password of today. */
    secret: string;
  },
): Promise<{ isDone: boolean; hindrance?: JobHindrance }> {
  const number = findPasswordNumber(secret, deployment) ?? 0;
  const to = { secret, number };
  if (
    number === 0 ||
    isDone(pass.view, names.passwordJob(deployment.metadata.name, 'adopt', number))
  )
    return { isDone: true };
  const { hindrance } = await runTask(deps, deployment, { task: 'adopt', from: to, to }, pass);
  return { isDone: false, ...(hindrance && { hindrance }) };
}

/** Removes the Job that has given a database its password, so that the next volume gets it, too. */
export async function removeAdoptionJob(
  { kube }: OperatorDeps,
  deployment: DeploymentResource,
  { secret, signal }: { secret: string; signal: AbortSignal },
): Promise<void> {
  const { namespace, name } = deployment.metadata;
  const number = findPasswordNumber(secret, deployment) ?? 0;
  if (number === 0) return;
  await kube.delete(
    kinds.job,
    { namespace, name: names.passwordJob(name, 'adopt', number) },
    { propagation: 'Background' },
    signal,
  );
}
