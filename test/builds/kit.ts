import { call, type Api } from '../../dev/run/control-plane.ts';
import type { SystemUnderTest } from '../kit/cluster-global.ts';
import { deployFromGit, type BuiltRevision, type GitDeployment } from '../kit/git-deployment.ts';
import { kubectlFor } from '../kit/kubectl.ts';
import { until } from '../kit/until.ts';

/** Milliseconds for several builds, one after another. */
export const LONG = 900_000;

export const apiOf = ({ controlPlane, key }: SystemUnderTest): Api => ({ url: controlPlane, key });

export const unique = (name: string): string => `${name}-${Date.now().toString(36).slice(-5)}`;

/** Waits until the newest revision has this status, and returns it. */
export const reaches = (deployment: GitDeployment, status: string): Promise<BuiltRevision> =>
  until(
    `${deployment.name} is ${status}`,
    async () => {
      const [newest] = await deployment.revisions();
      if (newest?.status === status) return newest;
      throw new Error(JSON.stringify(newest));
    },
    300,
  );

/** Returns the whole log of a revision's build, as REST has it. */
export async function buildLog(
  system: SystemUnderTest,
  deployment: GitDeployment,
  { id }: Pick<BuiltRevision, 'id'>,
): Promise<string> {
  const path = `/v2/deployments/${deployment.id}/revisions/${id}/logs?type=build&limit=1000`;
  const { logs } = await call<{ logs: { message: string }[] }>(apiOf(system), 'GET', path);
  return logs.map(({ message }) => message).join('\n');
}

const made: GitDeployment[] = [];

/** Deploys a repository of its own. `removeMade` removes it, because the node has no place for many agents. */
export async function deploy(
  system: SystemUnderTest,
  asked: Parameters<typeof deployFromGit>[1],
): Promise<GitDeployment> {
  const deployment = await deployFromGit(system, asked);
  made.push(deployment);
  return deployment;
}

/** Removes what the tests of a file have deployed until now. */
export async function removeMade(system: SystemUnderTest): Promise<void> {
  await Promise.all(
    made.splice(0).map(({ id }) => call(apiOf(system), 'DELETE', `/v2/deployments/${id}`)),
  );
}

/** Calls `work` while the operator has other settings of builds. */
export async function withSettings(
  system: SystemUnderTest,
  settings: Record<string, string>,
  work: () => Promise<void>,
): Promise<void> {
  const kubectl = kubectlFor(system);
  const set = async (words: string[]): Promise<void> => {
    await kubectl('set', 'env', 'deploy/gx-operator', '--namespace', 'gx-system', ...words);
    await kubectl(
      'rollout',
      'status',
      'deploy/gx-operator',
      '--namespace',
      'gx-system',
      '--timeout=180s',
    );
  };
  const { spec } = await kubectl.json<Workload>(
    'get',
    'deploy',
    'gx-operator',
    '--namespace',
    'gx-system',
  );
  const before = new Map(
    spec.template.spec.containers[0]?.env.map(({ name, value }) => [name, value]),
  );
  await set(Object.entries(settings).map(([name, value]) => `${name}=${value}`));
  try {
    await work();
  } finally {
    await set(
      Object.keys(settings).map((name) =>
        before.has(name) ? `${name}=${before.get(name)}` : `${name}-`,
      ),
    );
  }
}

type Workload = {
  spec: { template: { spec: { containers: { env: { name: string; value?: string }[] }[] } } };
};
