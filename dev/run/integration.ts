import { randomBytes } from 'node:crypto';
import type { Cluster } from '../cluster/provider.ts';
import { call, type Api } from './control-plane.ts';
import {
  createRepository,
  ensureGitAccount,
  createPushHook,
  type GitAccount,
  type Repository,
} from './git-host.ts';

type Connection = { id: string; name: string };

/** The source of a deployment from git: the integration, and a repository whose pushes reach the control plane. */
export type GitSource = { account: GitAccount; repository: Repository; integrationId: string };

/** `name` is that of the repository and of the integration. */
type Wanted = { name: string; files: Record<string, string> };

/** Creates a repository with these files on the cluster's git host, and connects it with the control plane. */
export async function connectRepository(
  cluster: Cluster,
  api: Api,
  { name, files }: Wanted,
): Promise<GitSource> {
  const account = await ensureGitAccount(cluster.gitHost);
  const repository = await createRepository(account, name, files);
  const connections = await call<Connection[]>(api, 'GET', '/v1/integrations/git');
  const known = connections.find((connection) => connection.name === name);
  if (known !== undefined) return { account, repository, integrationId: known.id };
  const secret = randomBytes(24).toString('hex');
  const { id } = await call<Connection>(api, 'POST', '/v1/integrations/git', {
    name,
    kind: cluster.gitHost.kind,
    host: `http://${cluster.gitHost.name}`,
    repositories: [`${account.user}/${name}`],
    credential: { token: account.token, username: account.user },
    webhook_secret: secret,
  });
  const { port } = new URL(api.url);
  await createPushHook(account, name, {
    url: `http://${cluster.gitHost.nodeAddress}:${port}/v1/integrations/git/${id}/push`,
    secret,
  });
  return { account, repository, integrationId: id };
}
