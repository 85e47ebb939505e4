import { NotFound } from '../../src/errors.ts';
import { kinds } from '../../src/kube/kinds.ts';
import type { DeploymentResource } from '../../src/schema/platform/resources/custom-resources.ts';
import { until } from '../kit/until.ts';
import { newDeployment } from '../kit/objects.ts';
import type { World } from './oracle.ts';
import { faultStage, untilQuiet, type FaultStage } from './fault-stage.ts';

/* A deployment's life in a scene: it is made, changed and removed. */
export const NAME = 'chat';
export const IMAGE = '/spec/template/sourceRevisionConfig/imageUri';

export const deploy = (
  { kube, namespace }: FaultStage,
  given: Parameters<typeof newDeployment>[1] = {},
): Promise<DeploymentResource> => kube.create(kinds.deployment, newDeployment(namespace, given));

export const change =
  (path: string, value: unknown, name = NAME) =>
  ({ kube, namespace }: FaultStage): Promise<DeploymentResource> =>
    kube.patchJson(kinds.deployment, { namespace, name }, [{ op: 'add', path, value }]);

export const remove = ({ kube, namespace }: FaultStage): Promise<boolean> =>
  kube.delete(kinds.deployment, { namespace, name: NAME });

/** Waits until it is ready and the workloads of earlier revisions are at zero. */
export async function untilSettled(
  { kube, namespace, see }: FaultStage,
  seconds = 60,
): Promise<void> {
  await see.untilReady(NAME, seconds);
  type Size = { replicas?: number };
  await until('only one pair has pods', async () => {
    const workloads = await kube.listAll(kinds.workload, { namespace });
    return (
      workloads.filter(
        ({ spec, status }) => ((spec as Size).replicas ?? 0) + ((status as Size).replicas ?? 0) > 0,
      ).length === 2
    );
  });
}

export async function untilGone({ see }: FaultStage): Promise<void> {
  let left = '';
  const isGone = (): Promise<boolean> =>
    see.deployment(NAME).then(
      ({ status }) => {
        left = status?.message ?? '';
        return false;
      },
      (error: unknown) => error instanceof NotFound,
    );
  await until('the deployment is gone', isGone).catch((cause: unknown) => {
    throw new Error(`the deployment is not gone: ${left}`, { cause });
  });
}

/** A deployment that has settled, and whose operator was stopped. */
export async function settledFirst(given: FaultStage): Promise<void> {
  const operator = await given.operator();
  await deploy(given);
  await untilSettled(given);
  await operator.stop();
}

/** What a life results in without a fault. Each step is awaited. */
export async function faultFree(
  ...steps: ((given: FaultStage) => Promise<unknown>)[]
): Promise<World> {
  const given = await faultStage('clean');
  const operator = await given.operator();
  await deploy(given);
  await untilSettled(given);
  for (const step of steps) {
    await step(given);
    await untilQuiet(given);
  }
  await untilQuiet(given);
  const world = await given.world();
  await operator.stop();
  await given.stop();
  return world;
}
