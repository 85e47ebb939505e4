import type { CallContext } from '../caller.ts';
import type { ControlPlane } from '../control-plane.ts';
import { answerForDeployment } from './answers.ts';
import { belongsTo } from './lookup.ts';
import { deploymentStatus } from './resource.ts';
import { firstPageOf, paging } from '../paging.ts';
import { Type, type Static } from 'typebox';
import type { DeploymentResource } from '../../schema/platform/custom-resources.ts';
import { DEPLOYMENT_STATUSES, DEPLOYMENT_TYPES, type Deployment } from '../../schema/platform/deployment.ts';
import { StringEnum } from '../../schema/types.ts';

export const ListQuery = Type.Object(
  {
    ...paging,
    name: Type.Optional(Type.String({ description: 'Exact name.' })),
    name_contains: Type.Optional(Type.String({ description: 'Part of the name; case does not matter.' })),
    status: Type.Optional(StringEnum(DEPLOYMENT_STATUSES)),
    deployment_type: Type.Optional(StringEnum(DEPLOYMENT_TYPES)),
    image_version: Type.Optional(Type.String()),
    deployment_ids: Type.Optional(Type.Array(Type.String(), { description: 'Ids, repeated or separated by commas.' })),
    remote_reconciled: Type.Optional(Type.Boolean({ description: 'Whether the operator has seen the present version of the deployment.' })),
  },
  { additionalProperties: false },
);
export type ListQuery = Static<typeof ListQuery>;

/** Returns a predicate that is true for deployments that pass every given filter. */
function matches(query: ListQuery, idOf: (deployment: DeploymentResource) => string): (deployment: DeploymentResource) => boolean {
  const ids = query.deployment_ids?.flatMap((text) => text.split(',')).map((id) => id.trim().toLowerCase());
  const part = query.name_contains?.toLowerCase();
  const wanted = (value: unknown, filter: unknown): boolean => filter === undefined || value === filter;
  return (deployment) => {
    const { metadata, spec, status } = deployment;
    return (
      wanted(metadata.name, query.name) &&
      (part === undefined || metadata.name.includes(part)) &&
      wanted(deploymentStatus(deployment), query.status) &&
      wanted(spec.sourceConfig?.deploymentType, query.deployment_type) &&
      wanted(status?.serverVersion, query.image_version) &&
      (ids === undefined || ids.includes(idOf(deployment))) &&
      wanted(status?.observedGeneration === metadata.generation, query.remote_reconciled)
    );
  };
}

export async function listDeployments(
  plane: Pick<ControlPlane, 'config' | 'secrets' | 'stored'>,
  query: ListQuery,
  call: CallContext,
): Promise<{ resources: Deployment[]; offset: number }> {
  const mine = belongsTo(plane, call.caller);
  const wanted = matches(query, (deployment) => plane.stored.idOf(deployment));
  const { items, offset } = firstPageOf(plane.stored.deployments(), query, (deployment) => mine(deployment) && wanted(deployment));
  return { resources: await Promise.all(items.map((deployment) => answerForDeployment(plane, deployment, call))), offset };
}
