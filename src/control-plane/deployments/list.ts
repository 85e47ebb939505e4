import type { CallContext } from '../caller.ts';
import type { ControlPlane } from '../control-plane.ts';
import { answerForDeployment } from './answers.ts';
import { buildTenantFilter } from './lookup.ts';
import { getDeploymentStatus } from './resource.ts';
import { takeFirstPage, LONGEST_PAGE, takePage, paging } from '../paging.ts';
import { Type, type Static } from 'typebox';
import type { DeploymentResource } from '../../schema/platform/resources/custom-resources.ts';
import { Invalid } from '../../errors.ts';
import { DEPLOYMENT_STATUSES } from '../../schema/platform/deployment/statuses.ts';
import {
  DEPLOYMENT_TYPES,
  Deployment,
  SOURCES,
} from '../../schema/platform/deployment/deployment.ts';
import {
  DEPLOYMENT_STATES,
  DeploymentSummary,
} from '../../schema/platform/deployment/deployment-summary.ts';
import { buildDeploymentSummary } from './summary.ts';
import { getUpdatedAt } from '../stored/metadata.ts';
import { buildClosedSchema, buildEnumSchema, buildOptionalFields } from '../../schema/types.ts';

/** Summaries that a page may have. They are small and need no Secret. */
const LONGEST_PAGE_OF_SUMMARIES = 500;

/** Fields by which a list may be sorted, and the texts that are compared. */
const SORTS: Record<
  string,
  (deployment: DeploymentResource, overview: ControlPlane['overview']) => string
> = {
  name: ({ metadata }) => metadata.name,
  created_at: ({ metadata }) => metadata.creationTimestamp ?? '',
  updated_at: (deployment) => getUpdatedAt(deployment),
  state: (deployment, overview) => overview.look(deployment).state.state,
};
const SORT_WORDS = Object.keys(SORTS).flatMap((field) => [field, `-${field}`]);

export const ListQuery = buildClosedSchema({
  ...paging,
  ...buildOptionalFields({
    limit: Type.Integer({
      minimum: 1,
      maximum: LONGEST_PAGE_OF_SUMMARIES,
      default: 20,
      description: `At most ${LONGEST_PAGE}; ${LONGEST_PAGE_OF_SUMMARIES} with view=summary.`,
    }),
    view: buildEnumSchema(['full', 'summary'], {
      default: 'full',
      description: 'summary: the state of each deployment, without configuration and secrets.',
    }),
    name: Type.String({ description: 'Exact name.' }),
    name_contains: Type.String({ description: 'Part of the name; case does not matter.' }),
    namespace: Type.String({ description: 'Namespace that it runs in.' }),
    source: buildEnumSchema(SOURCES),
    status: buildEnumSchema(DEPLOYMENT_STATUSES),
    state: Type.Array(buildEnumSchema(DEPLOYMENT_STATES), {
      description: 'State; repeat the parameter for each one.',
    }),
    reason: Type.String({ description: 'Reason of the state.' }),
    deployment_type: buildEnumSchema(DEPLOYMENT_TYPES),
    image_version: Type.String(),
    deployment_ids: Type.Array(Type.String(), {
      description: 'Ids; repeat the parameter, or separate them by commas.',
    }),
    remote_reconciled: Type.Boolean({
      description: 'Whether the operator has seen the current version of the deployment.',
    }),
    sort: buildEnumSchema(SORT_WORDS, {
      description: 'Field; a minus reverses the order. Default: newest first.',
    }),
    total: Type.Boolean({
      description: 'Whether the answer holds the number of all deployments that pass the filters.',
    }),
  }),
});
export type ListQuery = Static<typeof ListQuery>;

type Passes = (deployment: DeploymentResource) => boolean;

const isWanted = (value: unknown, filter: unknown): boolean =>
  filter === undefined || value === filter;

function buildFilter(query: ListQuery, plane: ControlPlane): Passes {
  const ids = query.deployment_ids
    ?.flatMap((text) => text.split(','))
    .map((id) => id.trim().toLowerCase());
  const part = query.name_contains?.toLowerCase();
  const inPlace = buildPlaceFilter(query);
  const inState = buildStateFilter(query, plane);
  return (deployment) => {
    const { metadata, status } = deployment;
    return (
      isWanted(metadata.name, query.name) &&
      (part === undefined || metadata.name.includes(part)) &&
      isWanted(getDeploymentStatus(deployment), query.status) &&
      isWanted(status?.serverVersion, query.image_version) &&
      (ids === undefined || ids.includes(plane.stored.getId(deployment))) &&
      isWanted(status?.observedGeneration === metadata.generation, query.remote_reconciled) &&
      inPlace(deployment) &&
      inState(deployment)
    );
  };
}

const buildPlaceFilter =
  ({ namespace, source, deployment_type: type }: ListQuery): Passes =>
  ({ metadata, spec }) =>
    isWanted(metadata.namespace, namespace) &&
    isWanted(spec.source, source) &&
    isWanted(spec.sourceConfig?.deploymentType, type);

/** Returns a predicate for the states, which are looked at only if the query asks for one. */
function buildStateFilter(
  { state: states, reason }: ListQuery,
  { overview }: ControlPlane,
): Passes {
  if (states === undefined && reason === undefined) return () => true;
  return (deployment) => {
    const { state, reason: known } = overview.look(deployment).state;
    return (states === undefined || states.includes(state)) && isWanted(known, reason);
  };
}

/** Returns one page of the deployments that pass. It looks at no more of them than it needs. */
function findPage(
  { stored, overview }: ControlPlane,
  query: ListQuery,
  passes: Passes,
): { items: DeploymentResource[]; offset: number; total?: number } {
  if (query.sort === undefined && query.total !== true)
    return takeFirstPage(stored.listDeployments(), query, passes);
  const all = stored.listDeployments().filter(passes);
  const sorted = query.sort === undefined ? all : sortDeployments(all, query.sort, overview);
  return { ...takePage(sorted, query), ...(query.total === true && { total: all.length }) };
}

/** Equal ones stay newest first. */
function sortDeployments(
  all: DeploymentResource[],
  sort: string,
  overview: ControlPlane['overview'],
): DeploymentResource[] {
  const down = sort.startsWith('-');
  const textOf = SORTS[down ? sort.slice(1) : sort];
  if (textOf === undefined) return all;
  const texts = all.map((deployment) => ({ deployment, text: textOf(deployment, overview) }));
  const order = down ? -1 : 1;
  return texts
    .toSorted((a, b) => (a.text === b.text ? 0 : a.text < b.text ? -order : order))
    .map(({ deployment }) => deployment);
}

export const ListAnswer = Type.Object({
  resources: Type.Array(
    Type.Unsafe<Deployment | DeploymentSummary>({ oneOf: [Deployment, DeploymentSummary] }),
  ),
  offset: Type.Integer({ description: 'Offset of the next page.' }),
  total: Type.Optional(
    Type.Integer({
      description: 'Number of deployments that pass the filters. Only with total=true.',
    }),
  ),
});
export type ListAnswer = Static<typeof ListAnswer>;

/** Returns the page of the caller's deployments that a query asks for. Throws `Invalid` for a page that is too long. */
export async function listDeployments(
  plane: ControlPlane,
  query: ListQuery,
  call: CallContext,
): Promise<ListAnswer> {
  const summaries = query.view === 'summary';
  if (!summaries && (query.limit ?? 0) > LONGEST_PAGE)
    throw new Invalid([
      {
        loc: ['query', 'limit'],
        msg: `must be <= ${LONGEST_PAGE} without view=summary`,
        type: 'maximum',
      },
    ]);
  const mine = buildTenantFilter(plane, call.caller);
  const passes = buildFilter(query, plane);
  const { items, ...page } = findPage(
    plane,
    query,
    (deployment) => mine(deployment) && passes(deployment),
  );
  if (summaries)
    return {
      resources: items.map((one) => buildDeploymentSummary(plane.overview.summarize(one))),
      ...page,
    };
  return {
    resources: await Promise.all(
      items.map((deployment) => answerForDeployment(plane, deployment, call)),
    ),
    ...page,
  };
}
