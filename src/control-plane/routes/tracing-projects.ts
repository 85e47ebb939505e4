import { Type, type Static } from 'typebox';
import { Conflict, NotFound } from '../../errors.ts';
import { json, noContent, routesWith } from '../../http/route.ts';
import { kinds } from '../../kube/kube.ts';
import type { TracingProjectResource } from '../../schema/platform/custom-resources.ts';
import { tenantOfProject } from '../../schema/platform/tenancy.ts';
import { Closed, DateTime, Uuid } from '../../schema/types.ts';
import type { Caller } from '../caller.ts';
import type { ControlPlane } from '../control-plane.ts';
import { belongsTo } from '../deployments/lookup.ts';
import { pageOf, paging } from '../paging.ts';
import { onePage, restRoutes } from './route.ts';
import { newestCreatedFirst } from '../stored/newest-first.ts';

const TracingProject = Type.Object({
  id: Uuid('Read-only.'),
  name: Type.String(),
  created_at: DateTime('Read-only.'),
  tenant_id: Uuid('Read-only.'),
});
const Path = Type.Object({ project_id: Uuid('Id of the tracing project.') });
const Query = Closed({ ...paging, name: Type.Optional(Type.String({ description: 'Exact name.' })) });

const route = restRoutes<[Plane]>('tracing projects');
const path = '/v2/tracing-projects/{project_id}';

const toAnswer = ({ metadata, spec }: TracingProjectResource, { tenantId }: Caller): Static<typeof TracingProject> => ({
  id: metadata.uid ?? '',
  name: spec.projectName,
  created_at: metadata.creationTimestamp ?? '',
  tenant_id: tenantId,
});

type Plane = Pick<ControlPlane, 'config' | 'kube' | 'stored'>;

function own({ stored, config }: Omit<Plane, 'kube'>, { tenantId }: Caller): TracingProjectResource[] {
  const owners = stored.owners();
  return stored.projects().filter((project) => tenantOfProject(project, owners, config.defaultTenantId) === tenantId);
}

function find(plane: Omit<Plane, 'kube'>, id: string, caller: Caller): TracingProjectResource {
  const project = own(plane, caller).find(({ metadata }) => metadata.uid === id.toLowerCase());
  if (project === undefined) throw new NotFound(`Tracing project ID ${id} not found.`);
  return project;
}

export const tracingProjectRoutes = routesWith([
  route.get('/v2/tracing-projects', {
    id: 'listTracingProjects',
    summary: 'List tracing projects: one is made with each deployment, and may outlive it.',
    access: 'read',
    query: Query,
    answers: { 200: onePage(TracingProject) },
    handler: ({ query, caller }, plane) => {
      const found = own(plane, caller).filter(({ spec }) => query.name === undefined || spec.projectName === query.name);
      const { items, offset } = pageOf(found.toSorted(newestCreatedFirst), query);
      return json({ resources: items.map((project) => toAnswer(project, caller)), offset });
    },
  }),
  route.get(path, {
    id: 'getTracingProject',
    summary: 'Get a tracing project.',
    access: 'read',
    params: Path,
    answers: { 200: { description: 'The tracing project.', schema: TracingProject } },
    handler: ({ params, caller }, plane) => json(toAnswer(find(plane, params.project_id, caller), caller)),
  }),
  route.delete(path, {
    id: 'deleteTracingProject',
    summary: 'Delete a tracing project that outlived its deployment, so that the name is free again.',
    access: 'write',
    params: Path,
    answers: { 204: { description: 'Deleted.' }, 409: { description: 'Its deployment still exists.' } },
    handler: async ({ params, caller, signal }, plane) => {
      const project = find(plane, params.project_id, caller);
      const { namespace, name, uid = '' } = project.metadata;
      if (plane.stored.named(project.spec.projectName).some(belongsTo(plane, caller)))
        throw new Conflict('The deployment of this tracing project still exists.');
      await plane.kube.delete(kinds.tracingProject, { namespace, name }, { uid });
      await plane.stored.refresh.project(project, signal);
      return noContent();
    },
  }),
]);
