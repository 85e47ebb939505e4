import process from 'node:process';
import { choose } from '../cluster/choose.ts';
import { clusterUp, type Cluster } from '../cluster/cluster.ts';
import { program, say, step } from '../steps.ts';
import { agentKey, agentUrl, deploy, untilDeployed } from './control-plane.ts';
import { ENV_FILE, writeEnvFile, type RunEnv } from './env-file.ts';
import { filesIn } from './git-host.ts';
import { loadImages, startImages } from './images.ts';
import { connectRepository } from './integration.ts';
import { installPlatform } from './platform.ts';
import { streamOneRun } from './stream.ts';

const HELP = `make run: a cluster, the platform on it, and an example agent that answers.

Safe to repeat: what is there and healthy is kept. "make down" removes all of it.
GX_CLUSTER=native or GX_CLUSTER=kind chooses how the cluster is had (default: kind where Docker answers).
`;

const EXAMPLE = 'echo';
/** The repository with the same agent, for deployments from git. */
const REPOSITORY = 'hello';

/** Goes from an empty folder to an answering agent, one named step after another, and leaves everything running. */
async function main(): Promise<void> {
  if (process.argv.includes('--help')) return say(HELP);
  const started = performance.now();
  await (await choose()).require();
  const images = startImages();
  const cluster = await step('cluster', (report) => clusterUp({ name: 'gx', report }));
  const built = await step('images', async (report) => loadImages(cluster, await images, report));
  const api = await step('platform', (report) => installPlatform({ cluster, images: built, report }));
  const deployment = await step('deployment', async (report) => {
    const made = await deploy(api, { name: EXAMPLE, image: built.example }, report);
    return untilDeployed(api, made, report);
  });
  const agent = { url: agentUrl(deployment), key: await agentKey(api, deployment) };
  const git = await step('git', async (report) => {
    const source = await connectRepository(cluster, api, { name: REPOSITORY, files: filesIn(`examples/${EXAMPLE}`) });
    report(`${source.repository.url}, integration ${source.integrationId}`);
    return source;
  });
  await step('run', (report) => streamOneRun(agent, 'Are you there?', report));
  const env: RunEnv = {
    CONTROL_PLANE_URL: api.url,
    API_KEY: api.key,
    AGENT_URL: agent.url,
    AGENT_KEY: agent.key,
    KUBECONFIG: cluster.kubeconfig,
    KUBECTL: cluster.kubectl,
    EXAMPLE_IMAGE: built.example,
    GIT_URL: git.repository.pushUrl,
    REPO_URL: git.repository.url,
    GIT_INTEGRATION_ID: git.integrationId,
    REGISTRY: cluster.registry.url,
  };
  writeEnvFile(env);
  say(summary(env, cluster, (performance.now() - started) / 1000));
}

function summary(env: RunEnv, cluster: Cluster, seconds: number): string {
  return `
Everything runs (${seconds.toFixed(0)} s, ${cluster.kind} cluster "${cluster.name}").

  control plane   ${env.CONTROL_PLANE_URL}   (OpenAPI: ${env.CONTROL_PLANE_URL}/docs)
  agent           ${env.AGENT_URL}   (asks for its key)
  repository      ${env.REPO_URL}   (docs/quick-start.md deploys it: five commands from a repository to an agent)

Try next:
  . ${ENV_FILE}
  curl -H "X-Api-Key: $API_KEY" $CONTROL_PLANE_URL/v2/deployments
  curl -X POST $AGENT_URL/runs/wait -H "X-Api-Key: $AGENT_KEY" -H 'content-type: application/json' \\
       -d '{"assistant_id": "${EXAMPLE}", "input": {"messages": [{"role": "human", "content": "hello"}]}}'
  $KUBECTL get gxd,gxr --all-namespaces
  make down
`;
}

await program(main);
