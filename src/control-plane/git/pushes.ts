import type { IncomingHttpHeaders } from 'node:http';
import { Conflict, NotFound } from '../../errors.ts';
import { readPayload, parsePush, type PushEvent } from '../../git/push-event.ts';
import { kinds } from '../../kube/kinds.ts';
import type { DeploymentResource } from '../../schema/platform/resources/custom-resources.ts';
import { PUSHED_AT, REPOSITORY_ID } from '../../schema/platform/objects/labels.ts';
import { findRepositoryPath } from '../../schema/platform/source/repo-url.ts';
import { resolveDeploymentTenant } from '../../schema/platform/resources/tenancy.ts';
import type { ControlPlane } from '../control-plane.ts';
import { buildJsonPatch } from '../json-patch.ts';
import type { KnownIntegration } from '../stored/integrations.ts';
import type { PushDoor } from './push-door.ts';
import { parseJsonOr } from '../../schema/json.ts';

/** The result of a push event: how many deployments were woken, and why if none. */
export type PushOutcome = { accepted: boolean; deployments: number; detail: string };

/** Takes a push event: it wakes the deployments that follow the branch, and the operator looks up its commit. */
export async function acceptPush(
  plane: ControlPlane & { door: PushDoor },
  id: string,
  { headers, body, source }: { headers: IncomingHttpHeaders; body: Buffer; source: string },
): Promise<PushOutcome> {
  const integration = await plane.door.requireSigner(id, { source, headers, body });
  const event = parsePush(
    integration.kind,
    headers,
    parseJsonOr(readPayload({ headers, body }), undefined),
  );
  if ('ignored' in event) return { accepted: false, deployments: 0, detail: event.ignored };
  const candidates = plane.stored.listDeployments().filter(buildPushFilter(plane, integration));
  const ofRepository = candidates.filter((deployment) =>
    isBuiltFrom(deployment, integration, event),
  );
  const followers = ofRepository.filter(
    ({ spec }) => spec.template.sourceRevisionConfig?.repoRef === event.branch,
  );
  for (const deployment of followers) await wake(plane, deployment, integration, event);
  if (followers.length === 0)
    await plane.integrations.noteUnmatched(integration, { ...event, at: plane.now() });
  return {
    accepted: followers.length > 0,
    deployments: followers.length,
    detail: describePush(event, ofRepository, followers, integration),
  };
}

/** Returns the sentence on the deployments that an event was for, which people read in the list of their git host. */
function describePush(
  { branch, repository }: PushEvent,
  ofRepository: readonly DeploymentResource[],
  followers: readonly DeploymentResource[],
  integration: KnownIntegration,
): string {
  if (ofRepository.length === 0)
    return `No deployment of this integration with build_on_push is built from ${repository}. Is its repo_url another one, or was the repository renamed before its first push event came?`;
  if (followers.length === 0)
    return `No deployment with build_on_push that is built from ${repository} follows the branch ${branch}.`;
  const hasMoved = followers.some((deployment) => !hasPath(deployment, integration, repository));
  return `The deployments check the branch now.${hasMoved ? ` The repository is now called ${repository}, and their repo_url still has its former address.` : ''}`;
}

const isSame = (kind: KnownIntegration['kind'], one: string | undefined, other: string): boolean =>
  kind === 'generic' ? one === other : one?.toLowerCase() === other.toLowerCase();

/** Returns a function that tells whether pushes to an integration's repositories mean something to a deployment. */
const buildPushFilter =
  ({ stored, config }: ControlPlane, integration: KnownIntegration) =>
  (deployment: DeploymentResource): boolean => {
    const { sourceConfig, source } = deployment.spec;
    if (
      source !== 'git' ||
      sourceConfig?.buildOnPush !== true ||
      sourceConfig.integrationId?.toLowerCase() !== integration.id
    )
      return false;
    const isThere = deployment.metadata.deletionTimestamp === undefined;
    return (
      isThere &&
      resolveDeploymentTenant(deployment, stored.getOwners(), config.defaultTenantId) ===
        integration.tenantId
    );
  };

const hasPath = (
  { spec }: DeploymentResource,
  integration: KnownIntegration,
  repository: string,
): boolean =>
  isSame(
    integration.kind,
    findRepositoryPath(integration, spec.sourceConfig?.repoUrl ?? ''),
    repository.replace(/\.git$/, ''),
  );

/** Returns true if the event is of a deployment's repository, by its address, or by the id that it had there. */
const isBuiltFrom = (
  deployment: DeploymentResource,
  integration: KnownIntegration,
  { repository, repositoryId }: PushEvent,
): boolean =>
  hasPath(deployment, integration, repository) ||
  (repositoryId !== undefined &&
    deployment.metadata.annotations?.[REPOSITORY_ID] === `${integration.id} ${repositoryId}`);

/** Notes the event on a deployment. It is no part of the spec, so nobody's manifest has another value for it. */
async function wake(
  { kube, now }: ControlPlane,
  { metadata }: DeploymentResource,
  integration: KnownIntegration,
  event: PushEvent,
): Promise<void> {
  const { commit, repositoryId } = event;
  const ref = { namespace: metadata.namespace, name: metadata.name };
  const known =
    repositoryId === undefined ? {} : { [REPOSITORY_ID]: `${integration.id} ${repositoryId}` };
  const annotations = {
    ...metadata.annotations,
    [PUSHED_AT]: `${commit} ${now().toISOString()}`,
    ...known,
  };
  try {
    // The patch names these annotations alone, unless there was none.
    await kube.patchJson(
      kinds.deployment,
      ref,
      buildJsonPatch(metadata.annotations, annotations, '/metadata/annotations'),
    );
  } catch (error) {
    if (error instanceof Conflict || error instanceof NotFound) return;
    throw error;
  }
}
