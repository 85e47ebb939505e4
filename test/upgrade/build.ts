import { readFolderFiles } from '../../dev/run/git-host.ts';
import type { SystemUnderTest } from '../kit/cluster-global.ts';
import { deployFromGit, TELLER, type GitDeployment } from '../kit/git-deployment.ts';
import type { Kubectl } from '../kit/kubectl.ts';
import { until } from '../kit/until.ts';

type Pod = {
  metadata: { uid: string };
  status: {
    phase: string;
    initContainerStatuses?: { name: string; state: { running?: object } }[];
  };
};

/** A pod that builds, and whether it still does. */
export type BuildPod = { uid: string; isAtWork: boolean };

/** Seconds that a build's own command takes: longer than the change of the platform. */
const SECONDS = 90;

/** Deploys an agent from a repository, and waits until it serves. Its builds take as long as their commits say. */
export async function deployBuilt(system: SystemUnderTest, name: string): Promise<GitDeployment> {
  const files = { ...readFolderFiles(TELLER), seconds: '0' };
  const deployment = await deployFromGit(system, {
    name,
    files,
    config: { build_command: 'sleep "$(cat seconds)"' },
  });
  await until(
    `${name} is built and serves`,
    async () => {
      const [newest] = await deployment.revisions();
      if (newest?.status === 'DEPLOYED') return true;
      throw new Error(JSON.stringify(newest));
    },
    300,
  );
  return deployment;
}

/** Pushes a commit whose build takes its time, and waits until it is at that. Returns the commit and its pod. */
export async function startBuild(
  kubectl: Kubectl,
  deployment: GitDeployment,
  word: string,
): Promise<{ commit: string; uid: string }> {
  const before = (await buildPods(kubectl, deployment.name)).map(({ uid }) => uid);
  const commit = await deployment.push({
    'word.js': `export const WORD = '${word}';\n`,
    seconds: String(SECONDS),
  });
  const { uid } = await until('its build is at work', async () =>
    (await buildPods(kubectl, deployment.name)).find(
      (pod) => pod.isAtWork && !before.includes(pod.uid),
    ),
  );
  return { commit, uid };
}

/** Returns the pods that build a deployment, or have built it. */
export async function buildPods(kubectl: Kubectl, name: string): Promise<BuildPod[]> {
  const { items } = await kubectl.json<{ items: Pod[] }>(
    'get',
    'pods',
    '-n',
    'gx-builds',
    '-l',
    `gx.dev/deployment=${name}`,
  );
  return items.map(({ metadata: { uid }, status: { initContainerStatuses = [] } }) => ({
    uid,
    isAtWork: initContainerStatuses.some(
      ({ name: stage, state }) => stage === 'build' && state.running !== undefined,
    ),
  }));
}
