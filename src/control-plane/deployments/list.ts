import { Type, type Static } from 'typebox';
import type { DeploymentResource } from '../../schema/custom-resources.ts';
import { DEPLOYMENT_STATUSES, DEPLOYMENT_TYPES, type Deployment } from '../../schema/deployment.ts';
import { StringEnum } from '../../schema/types.ts';
import type { Needs } from '../needs.ts';
import { firstPageOf, paging } from '../paging.ts';
import { answerFor, belongsTo, type Asking } from './find.ts';
import { deploymentId, statusOf } from './resource.ts';

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

/** True for what every given parameter lets through (pure). */
function matches(query: ListQuery): (deployment: DeploymentResource) => boolean {
  const ids = query.deployment_ids?.flatMap((text) => text.split(',')).map((id) => id.trim().toLowerCase());
  const part = query.name_contains?.toLowerCase();
  const wanted = (value: unknown, filter: unknown): boolean => filter === undefined || value === filter;
  return (deployment) => {
    const { metadata, spec, status } = deployment;
    return (
      wanted(metadata.name, query.name) &&
      (part === undefined || metadata.name.includes(part)) &&
      wanted(statusOf(deployment), query.status) &&
      wanted(spec.sourceConfig?.deploymentType, query.deployment_type) &&
      wanted(status?.serverVersion, query.image_version) &&
      (ids === undefined || ids.includes(deploymentId(deployment))) &&
      wanted(status?.observedGeneration === metadata.generation, query.remote_reconciled)
    );
  };
}

export async function listDeployments(
  needs: Needs,
  query: ListQuery,
  asking: Asking,
): Promise<{ resources: Deployment[]; offset: number }> {
  const mine = belongsTo(needs, asking.caller);
  const wanted = matches(query);
  const { items, offset } = firstPageOf(needs.stored.deployments(), query, (deployment) => mine(deployment) && wanted(deployment));
  return { resources: await Promise.all(items.map((deployment) => answerFor(needs, deployment, asking))), offset };
}
