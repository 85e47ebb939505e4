import { Type } from 'typebox';
import { NotFound } from '../../errors.ts';
import { json, type Route } from '../../http/route.ts';
import { Uuid } from '../../schema/types.ts';
import type { Caller } from '../caller.ts';
import type { ControlPlane } from '../control-plane.ts';
import { ownIntegration, ownIntegrations } from '../integrations.ts';
import { failures, notFound, restRoute } from './route.ts';

const GitIntegration = Type.Object({ id: Uuid('For source_config.integration_id.'), name: Type.String(), installation_id: Type.Integer() });

const GitRepository = Type.Object({
  host_integration_id: Uuid('The integration.'),
  id: Type.Integer(),
  name: Type.String(),
  owner: Type.String(),
  url: Type.String({ description: 'For source_config.repo_url.' }),
  default_branch: Type.String(),
});

const tag = 'integrations';

/**
 * Serves the connections to git hosts and their repositories from the installation's settings. The platform asks no git
 * host.
 */
export const integrationRoutes = ({ config }: ControlPlane): Route<Caller>[] => [
  restRoute({
    method: 'get',
    path: '/v1/integrations/git/install',
    id: 'listGitIntegrations',
    summary: 'List connections to a git host; empty where none is configured.',
    tag,
    access: 'read',
    answers: { 200: { description: 'The connections.', schema: Type.Array(GitIntegration) }, ...failures },
    handler: ({ caller }) =>
      json(ownIntegrations(config, caller.tenantId).map(({ id, name, installation_id }) => ({ id, name, installation_id }))),
  }),
  restRoute({
    method: 'get',
    path: '/v1/integrations/git/{integration_id}/repos',
    id: 'listGitRepositories',
    summary: 'List the repositories of a connection, as they are configured.',
    tag,
    access: 'read',
    params: Type.Object({ integration_id: Uuid('Id of the integration.') }),
    answers: { 200: { description: 'The repositories.', schema: Type.Array(GitRepository) }, 404: notFound, ...failures },
    handler: ({ params, caller }) => {
      const integration = ownIntegration(config, caller.tenantId, params.integration_id);
      if (integration === undefined) throw new NotFound(`Integration ID ${params.integration_id} not found.`);
      const repos = integration.repos ?? [];
      return json(
        repos.map(({ name, owner, url, default_branch, id: repo }) => ({
          host_integration_id: integration.id,
          id: repo,
          name,
          owner,
          url,
          default_branch,
        })),
      );
    },
  }),
];
