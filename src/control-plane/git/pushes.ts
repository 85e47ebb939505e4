import type { IncomingHttpHeaders } from 'node:http';
import { Conflict, NotFound } from '../../errors.ts';
import { pushIn, type PushEvent } from '../../git/push-event.ts';
import { kinds } from '../../kube/kube.ts';
import type { DeploymentResource } from '../../schema/platform/custom-resources.ts';
import { PUSHED_AT } from '../../schema/platform/labels.ts';
import { repositoryPath } from '../../schema/platform/repo-url.ts';
import { tenantOf } from '../../schema/platform/tenancy.ts';
import type { ControlPlane } from '../control-plane.ts';
import { jsonPatchOf } from '../json-patch.ts';
import type { KnownIntegration } from '../stored/integrations.ts';
import type { PushDoor } from './push-door.ts';
import { parsedOr } from '../../schema/json.ts';

type Plane = Pick<ControlPlane, 'config' | 'kube' | 'now' | 'stored'>;

/** The result of a push event: how many deployments were woken, and why if none. */
export type PushOutcome = { accepted: boolean; deployments: number; detail: string };

/** Takes a push event: it wakes the deployments that follow the branch, and the operator looks up its commit. */
export async function acceptPush(
  plane: Plane & { door: PushDoor },
  id: string,
  { headers, body, source }: { headers: IncomingHttpHeaders; body: Buffer; source: string },
): Promise<PushOutcome> {
  const integration = await plane.door.signerOf(id, { source, headers, body });
  const event = pushIn(integration.kind, headers, parsedOr(body.toString('utf8'), undefined));
  if ('ignored' in event) return { accepted: false, deployments: 0, detail: event.ignored };
  const followers = plane.stored.deployments().filter(followedBy(plane, integration, event));
  for (const deployment of followers) await wake(plane, deployment, event);
  const detail =
    followers.length === 0 ? 'No deployment with build_on_push follows this branch.' : 'The deployments look at the branch now.';
  return { accepted: followers.length > 0, deployments: followers.length, detail };
}

const sameIn = (kind: KnownIntegration['kind'], one: string | undefined, other: string): boolean =>
  kind === 'generic' ? one === other : one?.toLowerCase() === other.toLowerCase();

/** Returns a function that tells whether a deployment is built on such a push. */
const followedBy =
  ({ stored, config }: Pick<Plane, 'config' | 'stored'>, integration: KnownIntegration, { branch, repository }: PushEvent) =>
  (deployment: DeploymentResource): boolean => {
    const { sourceConfig, source, template } = deployment.spec;
    if (source !== 'git' || sourceConfig?.buildOnPush !== true || sourceConfig.integrationId?.toLowerCase() !== integration.id)
      return false;
    const isBranch = template.sourceRevisionConfig?.repoRef === branch && deployment.metadata.deletionTimestamp === undefined;
    if (!isBranch || tenantOf(deployment, stored.owners(), config.defaultTenantId) !== integration.tenantId) return false;
    return sameIn(integration.kind, repositoryPath(integration, sourceConfig.repoUrl ?? ''), repository.replace(/\.git$/, ''));
  };

/** Notes the event on a deployment. It is no part of the spec, so nobody's manifest has another value for it. */
async function wake({ kube, now }: Pick<Plane, 'kube' | 'now'>, { metadata }: DeploymentResource, { commit }: PushEvent): Promise<void> {
  const ref = { namespace: metadata.namespace, name: metadata.name };
  const annotations = { ...metadata.annotations, [PUSHED_AT]: `${commit} ${now().toISOString()}` };
  try {
    // The patch names the annotation alone, unless there was none.
    await kube.jsonPatch(kinds.deployment, ref, jsonPatchOf(metadata.annotations, annotations, '/metadata/annotations'));
  } catch (error) {
    if (error instanceof Conflict || error instanceof NotFound) return;
    throw error;
  }
}
