import { Client } from '@langchain/langgraph-sdk';
import { requireRunningCluster } from '../../dev/cluster/cluster.ts';
import { fetchAgentKey, requireAgentUrl, call, type Api } from '../../dev/run/control-plane.ts';
import { commitFiles, readFolderFiles } from '../../dev/run/git-host.ts';
import { connectRepository, type GitSource } from '../../dev/run/integration.ts';
import type { SystemUnderTest } from './cluster-global.ts';
import { until } from './until.ts';

/** What REST says of a revision that was built from git. */
export type BuiltRevision = {
  id: string;
  status: string;
  reason: string | null;
  status_message: string | null;
  log_tail: string | null;
  source_revision_config: { image_uri: string | null; repo_commit_sha: string | null };
};

type Deployment = Parameters<typeof requireAgentUrl>[0] & { active_revision_id: string | null };

const BUILD = 300;
const ENDED = /^(DEPLOYED|BUILD_FAILED|DEPLOY_FAILED|INTERRUPTED|SKIPPED)$/;

export const TELLER = 'test/system/teller';

/** A deployment from a repository of its own on the cluster's git host, whose agent says the word of `word.js`. */
export type GitDeployment = {
  id: string;
  name: string;
  source: GitSource;
  /** Pushes one commit of the followed branch, and returns it. */
  push(files: Record<string, string>): Promise<string>;
  /** Returns the revision of a commit once it has ended. */
  ended(commit: string): Promise<BuiltRevision>;
  revisions(): Promise<BuiltRevision[]>;
  read(): Promise<Deployment>;
  /** Returns a client of its agent that tries each request once. */
  client(): Promise<Client>;
};

/** Creates the repository, its integration and the deployment. It does not wait for the build. */
export async function deployFromGit(
  system: SystemUnderTest,
  {
    name,
    files = readFolderFiles(TELLER),
    config = {},
  }: { name: string; files?: Record<string, string>; config?: object },
): Promise<GitDeployment> {
  const api: Api = { url: system.controlPlane, key: system.key };
  const cluster = await requireRunningCluster({ name: system.name, report: () => undefined });
  const source = await connectRepository(cluster, api, { name, files });
  const { id } = await call<Deployment>(api, 'POST', '/v2/deployments', {
    name,
    source: 'git',
    source_config: {
      integration_id: source.integrationId,
      repo_url: source.repository.url,
      build_on_push: true,
      deployment_type: 'dev',
      ...config,
    },
    source_revision_config: { repo_ref: 'main', gx_config_path: 'gx.json' },
    secrets: [],
  });
  const path = `/v2/deployments/${id}`;
  const read = (): Promise<Deployment> => call(api, 'GET', path);
  const revisions = async (): Promise<BuiltRevision[]> =>
    (await call<{ resources: BuiltRevision[] }>(api, 'GET', `${path}/revisions?limit=100`))
      .resources;
  return {
    id,
    name,
    source,
    push: (changed) => commitFiles(source.account, { name, message: 'A change', files: changed }),
    revisions,
    read,
    ended: (commit) =>
      until(
        `the revision of ${commit} ends`,
        async () => {
          const all = await revisions();
          const found = all.find(
            ({ source_revision_config }) => source_revision_config.repo_commit_sha === commit,
          );
          if (found === undefined)
            throw new Error(`there is none among ${JSON.stringify(all.map(stateOf))}`);
          if (!ENDED.test(found.status)) throw new Error(JSON.stringify(stateOf(found)));
          return found;
        },
        BUILD,
      ),
    client: async () => {
      const deployment = await read();
      return new Client({
        apiUrl: requireAgentUrl(deployment),
        apiKey: await fetchAgentKey(api, deployment),
        callerOptions: { maxRetries: 0 },
      });
    },
  };
}

const stateOf = ({
  status,
  reason,
  status_message,
  source_revision_config,
}: BuiltRevision): object => ({
  status,
  reason,
  status_message,
  commit: source_revision_config.repo_commit_sha,
});

/** Runs the agent once, and returns what it said. */
export async function told(client: Client): Promise<string> {
  const state = await client.runs.wait(null, 'teller', { input: {} });
  return (state as { said: string }).said;
}
