import { Type } from 'typebox';
import { answerJson, answerNoContent, bindRoutes, type Route } from '../../http/routes/route.ts';
import { buildUuidSchema } from '../../schema/types.ts';
import type { Caller } from '../caller.ts';
import type { ControlPlane } from '../control-plane.ts';
import {
  createIntegration,
  findIntegration,
  listRepositories,
  listOwnIntegrations,
  removeIntegration,
} from '../git/connections.ts';
import { EVENT_SECONDS, MOST_EVENT_BYTES, PushDoor } from '../git/push-door.ts';
import { acceptPush } from '../git/pushes.ts';
import { toConnectionAnswer, GitConnection, GitIntegrationRequest } from '../git/resource.ts';
import type { KnownIntegration } from '../stored/integrations.ts';
import { rejected, buildRestRouteMakers } from './route.ts';

const GitInstall = Type.Object({
  id: buildUuidSchema('For source_config.integration_id.'),
  name: Type.String(),
  installation_id: Type.Integer(),
});

const GitRepository = Type.Object({
  host_integration_id: buildUuidSchema('The integration.'),
  id: Type.Integer(),
  name: Type.String(),
  owner: Type.String(),
  url: Type.String({ description: 'For source_config.repo_url.' }),
  default_branch: Type.String(),
});

const PushOutcome = Type.Object({
  accepted: Type.Boolean(),
  deployments: Type.Integer(),
  detail: Type.String(),
});

const route = buildRestRouteMakers<[Plane]>('integrations');
const Path = Type.Object({ integration_id: buildUuidSchema('Id of the integration.') });
const one = { description: 'The connection.', schema: GitConnection };

const buildConnectionAnswer = async (
  known: KnownIntegration,
  { integrations }: Plane,
): Promise<GitConnection> =>
  toConnectionAnswer(
    known,
    known.resource?.metadata.creationTimestamp,
    await integrations.findLastUnmatched(known),
  );

type Plane = ControlPlane & { door: PushDoor };

const connectionRoutes = bindRoutes([
  route.get('/v1/integrations/git/install', {
    id: 'listGitIntegrations',
    summary: 'List connections to git hosts; empty if there are none.',
    access: 'read',
    answers: { 200: { description: 'The connections.', schema: Type.Array(GitInstall) } },
    handler: ({ caller }, plane) =>
      answerJson(
        listOwnIntegrations(plane, caller.tenantId).map(({ id, name, installationId }) => ({
          id,
          name,
          installation_id: installationId,
        })),
      ),
  }),
  route.get('/v1/integrations/git/{integration_id}/repos', {
    id: 'listGitRepositories',
    summary:
      "List the repositories of a connection that may be built: its own list, or else the host's current list.",
    access: 'read',
    params: Path,
    answers: {
      200: { description: 'The repositories.', schema: Type.Array(GitRepository) },
      400: rejected,
    },
    handler: async ({ params, ...asking }, plane) => {
      const integration = await findIntegration(plane, params.integration_id, asking);
      const repositories = await listRepositories(plane, integration, asking.signal);
      return answerJson(
        repositories.map(({ defaultBranch, name, owner, url, id }) => ({
          host_integration_id: integration.id,
          id,
          name,
          owner,
          url,
          default_branch: defaultBranch,
        })),
      );
    },
  }),
  route.get('/v1/integrations/git', {
    id: 'listGitConnections',
    summary:
      'List connections to git hosts with their settings, without secrets. Needs the role admin.',
    access: 'admin',
    answers: { 200: { description: 'The connections.', schema: Type.Array(GitConnection) } },
    handler: async ({ caller }, plane) =>
      answerJson(
        await Promise.all(
          listOwnIntegrations(plane, caller.tenantId).map((integration) =>
            buildConnectionAnswer(integration, plane),
          ),
        ),
      ),
  }),
  route.post('/v1/integrations/git', {
    id: 'createGitConnection',
    summary:
      'Connect a git host. The credential and the webhook secret are stored, and never shown. Needs the role admin.',
    access: 'admin',
    body: GitIntegrationRequest,
    answers: { 201: one, 400: rejected },
    handler: async ({ body, ...asking }, plane) =>
      answerJson(
        await buildConnectionAnswer(await createIntegration(plane, body, asking), plane),
        201,
      ),
  }),
  route.delete('/v1/integrations/git/{integration_id}', {
    id: 'deleteGitConnection',
    summary: 'Delete a connection that no deployment uses, with its secrets. Needs the role admin.',
    access: 'admin',
    params: Path,
    answers: {
      204: { description: 'Removed.' },
      409: { description: 'A deployment uses it.' },
    },
    handler: async ({ params, ...asking }, plane) => {
      await removeIntegration(plane, params.integration_id, asking);
      return answerNoContent();
    },
  }),
]);

const pushRoute = (door: PushDoor) =>
  route.post('/v1/integrations/git/{integration_id}/push', {
    id: 'pushGitEvent',
    summary:
      'Receive a push event of the git host, as JSON or as a form that holds it, signed with the webhook secret. No API key is needed.',
    access: 'open',
    params: Path,
    rawBody: { bytes: MOST_EVENT_BYTES },
    admission: {
      seconds: EVENT_SECONDS,
      // The route's schema has accepted the parameters.
      admit: ({ params, ...asked }) =>
        door.admit((params as { integration_id: string }).integration_id, asked),
    },
    answers: {
      200: { description: 'The event has no effect here; detail says why.', schema: PushOutcome },
      202: {
        description: 'The deployments that follow the branch check it now.',
        schema: PushOutcome,
      },
      401: {
        description: 'There is no such integration, or the event is not signed with its secret.',
      },
      408: { description: `The event did not arrive within ${EVENT_SECONDS} seconds.` },
      413: { description: 'The event is larger than 5 MiB.' },
      429: {
        description:
          'Too many events are being handled, or this address has sent too many with wrong signatures.',
      },
    },
    handler: async ({ params, headers, body, source }, plane) => {
      // The route has no schema, so its body has no type.
      const bytes: unknown = body;
      const outcome = await acceptPush(plane, params.integration_id, {
        headers,
        body: bytes as Buffer,
        source,
      });
      return answerJson(outcome, outcome.accepted ? 202 : 200);
    },
  });

/** Serves the connections to git hosts and their repositories. */
export function buildIntegrationRoutes(given: ControlPlane): Route<Caller>[] {
  const plane = { ...given, door: new PushDoor(given) };
  return [...connectionRoutes(plane), ...bindRoutes([pushRoute(plane.door)])(plane)];
}
