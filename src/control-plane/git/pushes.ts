import type { IncomingHttpHeaders } from 'node:http';
import { Conflict, NotFound, Unauthorized } from '../../errors.ts';
import { isSignedBy, pushIn, type PushEvent } from '../../git/push-event.ts';
import { kinds } from '../../kube/kube.ts';
import type { DeploymentResource } from '../../schema/custom-resources.ts';
import { PUSHED_AT } from '../../schema/labels.ts';
import { repositoryPath } from '../../schema/repo-url.ts';
import { tenantOf } from '../../schema/tenancy.ts';
import type { ControlPlane } from '../control-plane.ts';
import { jsonPatchOf } from '../json-patch.ts';
import type { KnownIntegration } from '../stored/integrations.ts';

type Plane = Pick<ControlPlane, 'config' | 'kube' | 'integrations' | 'stored' | 'now'>;

/** What became of a push event: how many deployments were woken, and why if none. */
export type PushOutcome = { accepted: boolean; deployments: number; detail: string };

/** Compared with where there is no secret, so that an unknown integration takes as long as a wrong one. */
const NO_SECRET = 'there is no such integration';
/** Every refusal says the same, so that nobody learns which integrations there are. */
const UNKNOWN = 'There is no such integration, or the event is not signed with its secret.';

/** Takes a push event: it wakes the deployments that follow the branch, and the operator looks what that holds. */
export async function acceptPush(
  plane: Plane,
  id: string,
  { headers, body, signal }: { headers: IncomingHttpHeaders; body: Buffer; signal: AbortSignal },
): Promise<PushOutcome> {
  const integration = plane.integrations.all().find((known) => known.id === id.toLowerCase());
  const secret = integration && (await webhookSecret(plane, integration, signal));
  const isSigned = isSignedBy(secret ?? NO_SECRET, integration?.kind ?? 'generic', { headers, body });
  if (integration === undefined || secret === undefined || !isSigned) throw new Unauthorized(UNKNOWN);
  const event = pushIn(integration.kind, headers, jsonIn(body));
  if ('ignored' in event) return { accepted: false, deployments: 0, detail: event.ignored };
  const followers = plane.stored.deployments().filter(followedBy(plane, integration, event));
  for (const deployment of followers) await wake(plane, deployment, event);
  const detail =
    followers.length === 0 ? 'No deployment with build_on_push follows this branch.' : 'The deployments look at the branch now.';
  return { accepted: followers.length > 0, deployments: followers.length, detail };
}

async function webhookSecret(
  { kube, config }: Plane,
  { webhookSecret: name }: KnownIntegration,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (name === undefined || config.buildNamespace === undefined) return undefined;
  const secret = await kube.find(kinds.secret, { namespace: config.buildNamespace, name }, signal);
  const value = Buffer.from(secret?.data?.secret ?? '', 'base64')
    .toString('utf8')
    .trim();
  return value === '' ? undefined : value;
}

function jsonIn(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8')) as unknown;
  } catch {
    return undefined;
  }
}

const sameIn = (kind: KnownIntegration['kind'], one: string | undefined, other: string): boolean =>
  kind === 'generic' ? one === other : one?.toLowerCase() === other.toLowerCase();

/** Returns what tells whether a deployment is built on such a push. */
const followedBy =
  ({ stored, config }: Plane, integration: KnownIntegration, { branch, repository }: PushEvent) =>
  (deployment: DeploymentResource): boolean => {
    const { sourceConfig, source, template } = deployment.spec;
    if (source !== 'git' || sourceConfig?.buildOnPush !== true || sourceConfig.integrationId?.toLowerCase() !== integration.id)
      return false;
    const isBranch = template.sourceRevisionConfig?.repoRef === branch && deployment.metadata.deletionTimestamp === undefined;
    if (!isBranch || tenantOf(deployment, stored.owners(), config.defaultTenantId) !== integration.tenantId) return false;
    return sameIn(integration.kind, repositoryPath(integration, sourceConfig.repoUrl ?? ''), repository.replace(/\.git$/, ''));
  };

/** Notes the event on a deployment. It is no part of the spec, so nobody's manifest has another value for it. */
async function wake({ kube, now }: Plane, { metadata }: DeploymentResource, { commit }: PushEvent): Promise<void> {
  const ref = { namespace: metadata.namespace, name: metadata.name };
  const annotations = { ...metadata.annotations, [PUSHED_AT]: `${commit} ${now().toISOString()}` };
  try {
    // What the patch names is the annotation alone, unless there was none.
    await kube.jsonPatch(kinds.deployment, ref, jsonPatchOf(metadata.annotations, annotations, '/metadata/annotations'));
  } catch (error) {
    if (error instanceof Conflict || error instanceof NotFound) return;
    throw error;
  }
}
