import { randomBytes } from 'node:crypto';
import type { DeploymentResource } from '../../src/schema/platform/resources/custom-resources.ts';
import type { Condition } from '../../src/schema/platform/objects/conditions.ts';
import { until } from '../kit/until.ts';
import type { Scene } from './fault.ts';

export const NAMESPACE = 'gx-agents';

/** Returns a name that no deployment has. */
export const newName = (what: string): string => `${what}-${randomBytes(3).toString('hex')}`;

/** An agent that somebody applies with kubectl. Its data go with it. */
export const agent = (name: string, image: string, spec: object = {}): object => ({
  apiVersion: 'gx.dev/v1alpha1',
  kind: 'Deployment',
  metadata: { name, namespace: NAMESPACE },
  spec: {
    source: 'external_container',
    deletionPolicy: 'Delete',
    template: { sourceRevisionConfig: { imageUri: image } },
    ...spec,
  },
});

export const labelsOf = (deployment: string): Record<string, string> => ({
  namespace: NAMESPACE,
  deployment,
});
export const variablesOf = (deployment: string): Record<string, string> => ({
  NAMESPACE,
  DEPLOYMENT: deployment,
});

export const statusOf = async (
  { kubectl }: Scene,
  name: string,
): Promise<NonNullable<DeploymentResource['status']>> =>
  (await kubectl.json<DeploymentResource>('get', 'gxd', name, '-n', NAMESPACE)).status ?? {};

export const conditionOf = async (
  scene: Scene,
  name: string,
  type: string,
): Promise<Condition | undefined> =>
  (await statusOf(scene, name)).conditions?.find((condition) => condition.type === type);

export const isReady = async (scene: Scene, name: string): Promise<boolean> =>
  (await conditionOf(scene, name, 'Ready'))?.status === 'True';

/** Deploys an agent, and waits until it is ready. */
export async function deployed(scene: Scene, name: string, spec: object = {}): Promise<void> {
  await scene.kubectl.apply(agent(name, scene.system.image, spec));
  await until(`${name} is ready`, () => isReady(scene, name), 240);
}

/** Removes an agent, and waits until its objects are gone. */
export const removed = ({ kubectl }: Scene, name: string): Promise<string> =>
  kubectl('delete', 'gxd', name, '-n', NAMESPACE, '--ignore-not-found', '--timeout=180s');

/** Runs SQL in the database of an agent, by the socket, which asks for no password. Returns what it prints. */
export const sql = ({ kubectl }: Scene, name: string, ...statements: string[]): Promise<string> =>
  kubectl(
    'exec',
    `${name}-db-0`,
    '-n',
    NAMESPACE,
    '-c',
    'postgres',
    '--',
    'psql',
    '-XAqt',
    '-U',
    'postgres',
    'gx',
    ...statements.flatMap((one) => ['-c', one]),
  );
