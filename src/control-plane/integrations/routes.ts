import { Type } from 'typebox';
import { json, type Route } from '../../http/route.ts';
import { Uuid } from '../../schema/types.ts';
import { failures } from '../deployments/routes.ts';
import { route, type Caller, type Needs } from '../needs.ts';

const GitIntegration = Type.Object({ id: Uuid('For source_config.integration_id.'), name: Type.String(), installation_id: Type.Integer() });

export const integrationRoutes = ({ config }: Needs): Route<Caller>[] => [
  route({
    method: 'get',
    path: '/v1/integrations/git/install',
    id: 'listGitIntegrations',
    summary: 'List connections to a git host; empty where none is configured.',
    tag: 'integrations',
    access: 'read',
    answers: { 200: { description: 'All of them.', schema: Type.Array(GitIntegration) }, ...failures },
    handler: () => json(config.gitIntegrations.map(({ id, name, installation_id }) => ({ id, name, installation_id }))),
  }),
];
