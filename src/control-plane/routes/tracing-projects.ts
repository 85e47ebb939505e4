import { Type, type Static } from 'typebox';
import { Conflict, NotFound } from '../../errors.ts';
import { answerJson, answerNoContent, bindRoutes } from '../../http/routes/route.ts';
import { kinds } from '../../kube/kinds.ts';
import type { TracingProjectResource } from '../../schema/platform/resources/custom-resources.ts';
import { resolveProjectTenant } from '../../schema/platform/resources/tenancy.ts';
import { buildClosedSchema, buildDateTimeSchema, buildUuidSchema } from '../../schema/types.ts';
import type { Caller } from '../caller.ts';
import type { ControlPlane } from '../control-plane.ts';
import { buildTenantFilter } from '../deployments/lookup.ts';
import { takePage, paging } from '../paging.ts';
import { describePage, buildRestRouteMakers } from './route.ts';
import { compareNewestFirst } from '../stored/newest-first.ts';

const TracingProject = Type.Object({
  id: buildUuidSchema('Read-only.'),
  name: Type.String(),
  created_at: buildDateTimeSchema('Read-only.'),
  tenant_id: buildUuidSchema('Read-only.'),
});
const Path = Type.Object({ project_id: buildUuidSchema('Id of the tracing project.') });
const Query = buildClosedSchema({
  ...paging,
  name: Type.Optional(Type.String({ description: 'Exact name.' })),
});

const route = buildRestRouteMakers<[ControlPlane]>('tracing projects');
const path = '/v2/tracing-projects/{project_id}';

const toAnswer = (
  { metadata, spec }: TracingProjectResource,
  { tenantId }: Caller,
): Static<typeof TracingProject> => ({
  id: metadata.uid ?? '',
  name: spec.projectName,
  created_at: metadata.creationTimestamp ?? '',
  tenant_id: tenantId,
});

function listOwn(
  { stored, config }: Omit<ControlPlane, 'kube'>,
  { tenantId }: Caller,
): TracingProjectResource[] {
  const owners = stored.getOwners();
  return stored
    .listProjects()
    .filter(
      (project) => resolveProjectTenant(project, owners, config.defaultTenantId) === tenantId,
    );
}

function find(
  plane: Omit<ControlPlane, 'kube'>,
  id: string,
  caller: Caller,
): TracingProjectResource {
  const project = listOwn(plane, caller).find(({ metadata }) => metadata.uid === id.toLowerCase());
  if (project === undefined) throw new NotFound(`Tracing project ID ${id} not found.`);
  return project;
}

export const tracingProjectRoutes = bindRoutes([
  route.get('/v2/tracing-projects', {
    id: 'listTracingProjects',
    summary: 'List tracing projects: one is made with each deployment, and may outlive it.',
    access: 'read',
    query: Query,
    answers: { 200: describePage(TracingProject) },
    handler: ({ query, caller }, plane) => {
      const found = listOwn(plane, caller).filter(
        ({ spec }) => query.name === undefined || spec.projectName === query.name,
      );
      const { items, offset } = takePage(found.toSorted(compareNewestFirst), query);
      return answerJson({ resources: items.map((project) => toAnswer(project, caller)), offset });
    },
  }),
  route.get(path, {
    id: 'getTracingProject',
    summary: 'Get a tracing project.',
    access: 'read',
    params: Path,
    answers: { 200: { description: 'The tracing project.', schema: TracingProject } },
    handler: ({ params, caller }, plane) =>
      answerJson(toAnswer(find(plane, params.project_id, caller), caller)),
  }),
  route.delete(path, {
    id: 'deleteTracingProject',
    summary:
      'Delete a tracing project that outlived its deployment, so that the name is free again.',
    access: 'write',
    params: Path,
    answers: {
      204: { description: 'Deleted.' },
      409: { description: 'Its deployment still exists.' },
    },
    handler: async ({ params, caller, signal }, plane) => {
      const project = find(plane, params.project_id, caller);
      const { namespace, name, uid = '' } = project.metadata;
      if (plane.stored.listNamed(project.spec.projectName).some(buildTenantFilter(plane, caller)))
        throw new Conflict('The deployment of this tracing project still exists.');
      await plane.kube.delete(kinds.tracingProject, { namespace, name }, { uid });
      await plane.stored.refresh.project(project, signal);
      return answerNoContent();
    },
  }),
]);
