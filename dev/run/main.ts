import process from 'node:process';
import { choose } from '../cluster/choose.ts';
import { startCluster, type Cluster } from '../cluster/cluster.ts';
import { runMain, printLine, formatSecondsSince, step, type Report } from '../steps.ts';
import { forwardConsole } from './console.ts';
import {
  fetchAgentKey,
  requireAgentUrl,
  deploy,
  waitForDeployment,
  type Api,
} from './control-plane.ts';
import {
  readEarlierGitEnv,
  ENV_FILE,
  writeEnvFile,
  type FirstEnv,
  type GitEnv,
} from './env-file.ts';
import { readFolderFiles } from './git-host.ts';
import {
  FIRST_IMAGES,
  listCurrentImages,
  LATER_IMAGES,
  loadImages,
  startImages,
  type Images,
} from './images.ts';
import { connectRepository } from './integration.ts';
import { installPlatform } from './platform.ts';
import { streamOneRun } from './stream.ts';

const HELP = `make run: a cluster, the platform on it, and an example agent that answers.
make run-git: the same, and then a registry, a git host with the example in a repository, and the images of builds and
key-value stores (option --git).

Safe to repeat: healthy parts are kept. "make down" removes all of it.
GX_CLUSTER=native or GX_CLUSTER=kind chooses how the cluster is had (default: kind where Docker answers).
`;

const EXAMPLE = 'echo';
/** The repository with the same agent, for deployments from git. */
const REPOSITORY = 'hello';

/** Goes from an empty folder to an answering agent, one named step after another, and leaves everything running. */
async function main(): Promise<void> {
  if (process.argv.includes('--help')) return printLine(HELP);
  const started = performance.now();
  await (await choose()).require();
  const first = startImages(FIRST_IMAGES);
  const cluster = await step('cluster', (report) => startCluster({ name: 'gx', report }));
  await step('images', async (report) => loadImages(cluster, await first, report));
  const images = await listCurrentImages(cluster);
  const api = await step('platform', (report) => installPlatform({ cluster, images, report }));
  const agent = await step('deployment', (report) => deployExample(api, images.example, report));
  await step('run', (report) => streamOneRun(agent, 'Are you there?', report));
  const consoleUrl = await step('console', (report) => forwardConsole(cluster, report));
  const answers: FirstEnv = {
    CONTROL_PLANE_URL: api.url,
    CONSOLE_URL: consoleUrl,
    API_KEY: api.key,
    AGENT_URL: agent.url,
    AGENT_KEY: agent.key,
    KUBECONFIG: cluster.kubeconfig,
    KUBECTL: cluster.kubectl,
    EXAMPLE_IMAGE: images.example,
  };
  writeEnvFile({ ...answers, ...readEarlierGitEnv(api.key) });
  printLine(`\nAn agent answers after ${formatSecondsSince(started)}: ${agent.url}`);
  const env: FirstEnv & Partial<GitEnv> = process.argv.includes('--git')
    ? { ...answers, ...(await addBuilds({ cluster, api, images })) }
    : { ...answers, ...readEarlierGitEnv(api.key) };
  writeEnvFile(env);
  printLine(formatSummary(env, cluster, (performance.now() - started) / 1000));
}

async function deployExample(
  api: Api,
  image: string,
  report: Report,
): Promise<{ url: string; key: string }> {
  const deployment = await waitForDeployment(
    api,
    await deploy(api, { name: EXAMPLE, image }, report),
    report,
  );
  return { url: requireAgentUrl(deployment), key: await fetchAgentKey(api, deployment) };
}

type Platform = { cluster: Cluster; api: Api; images: Images };

/** Adds the parts for deployments from git: registry, git host, the builder's images, and a repository. */
async function addBuilds({ cluster: first, api, images }: Platform): Promise<GitEnv> {
  const later = startImages(LATER_IMAGES);
  const cluster = await step('registry and git host', (report) =>
    first.with(['registry', 'git'], report),
  );
  await step('images for builds', async (report) => loadImages(cluster, await later, report));
  const now = await listCurrentImages(cluster);
  if (JSON.stringify(now) !== JSON.stringify(images))
    await step('platform, as the sources are now', async (report) => {
      // They were changed meanwhile, so the cluster has the platform's images of before.
      await loadImages(cluster, await startImages(FIRST_IMAGES), report);
      return installPlatform({ cluster, images: now, report });
    });
  const git = await step('git', async (report) => {
    const source = await connectRepository(cluster, api, {
      name: REPOSITORY,
      files: readFolderFiles(`examples/${EXAMPLE}`),
    });
    report(`${source.repository.url}, integration ${source.integrationId}`);
    return source;
  });
  return {
    GIT_URL: git.repository.pushUrl,
    REPO_URL: git.repository.url,
    GIT_INTEGRATION_ID: git.integrationId,
    REGISTRY: cluster.registry.url,
  };
}

function formatSummary(env: FirstEnv & Partial<GitEnv>, cluster: Cluster, seconds: number): string {
  return `
Everything runs (${seconds.toFixed(0)} s, ${cluster.kind} cluster "${cluster.name}").

  control plane   ${env.CONTROL_PLANE_URL}   (OpenAPI: ${env.CONTROL_PLANE_URL}/docs)
  console         ${env.CONSOLE_URL}   (sign in with this key: ${env.API_KEY})
  agent           ${env.AGENT_URL}   (asks for its key)
  ${env.REPO_URL === undefined ? 'builds from git   make run-git' : `repository      ${env.REPO_URL}   (docs/quick-start.md deploys it: five commands from a repository to an agent)`}

Try next:
  . ${ENV_FILE}
  curl -H "X-Api-Key: $API_KEY" $CONTROL_PLANE_URL/v2/deployments
  curl -X POST $AGENT_URL/runs/wait -H "X-Api-Key: $AGENT_KEY" -H 'content-type: application/json' \\
       -d '{"assistant_id": "${EXAMPLE}", "input": {"messages": [{"role": "human", "content": "hello"}]}}'
  $KUBECTL get gxd,gxr --all-namespaces
  make down
`;
}

await runMain(main);
