import type { IncomingHttpHeaders } from 'node:http';
import { Type } from 'typebox';
import { Places } from '../../http/limits/quota.ts';
import { answerJson, bindRoutes, answerEvents, type Reply } from '../../http/routes/route.ts';
import { buildClosedSchema, buildEnumSchema, buildUuidSchema } from '../../schema/types.ts';
import type { CallContext } from '../caller.ts';
import type { ControlPlane } from '../control-plane.ts';
import { findDeployment } from '../deployments/lookup.ts';
import { LogFeeds } from '../logs/feeds.ts';
import { followLogs } from '../logs/follow.ts';
import { logPageAnswer, createLogPage } from '../logs/lines.ts';
import { LogReads } from '../logs/log-reads.ts';
import type { LogType } from '../logs/pod-logs.ts';
import { FollowQuery, FollowRevisionQuery, LogPage, LogQuery, logFields } from '../logs/schema.ts';
import { StreamTurns } from '../logs/stream-turns.ts';
import { findRevision } from '../revisions/answers.ts';
import { DeploymentPath, RevisionPath, buildRestRouteMakers } from './route.ts';

const TypedQuery = buildClosedSchema({ ...logFields, type: buildEnumSchema(['build', 'deploy']) });
const ProjectPath = Type.Object({ project_id: buildUuidSchema('Id of the deployment.') });
const ProjectRevisionPath = Type.Object({
  ...ProjectPath.properties,
  revision_id: buildUuidSchema('Id of the revision.'),
});
const answers = { 200: { description: 'One page.', schema: LogPage } };

type Ids = { deployment: string; revision?: string };
/** Pages that a key and a tenant may wait for at a time. Each holds a mebibyte of lines while logs are read. */
const PAGES = { key: 6, tenant: 24 };

/** The parts that read logs, for all routes together. */
type LogPlane = ControlPlane & {
  reads: LogReads;
  feeds: LogFeeds;
  turns: StreamTurns;
  pages: Places;
};

const route = buildRestRouteMakers<[LogPlane]>('logs');

async function answerLogs(
  plane: LogPlane,
  ids: Ids,
  { query, type, ...call }: CallContext & { query: LogQuery; type: LogType },
): Promise<Reply> {
  const { signal, caller } = call;
  const leave = plane.pages.enter([
    {
      name: `key ${caller.tenantId} ${caller.keyName}`,
      most: PAGES.key,
      message: `This key already waits for ${PAGES.key} pages of logs.`,
    },
    {
      name: `tenant ${caller.tenantId}`,
      most: PAGES.tenant,
      message: `This tenant already waits for ${PAGES.tenant} pages of logs.`,
    },
  ]);
  try {
    const deployment = await findDeployment(plane, ids.deployment, call);
    const revision =
      ids.revision === undefined
        ? undefined
        : await findRevision(plane, deployment, { id: ids.revision, signal });
    const page = createLogPage(query);
    const leftOut = await plane.reads.readLast({ deployment, revision, type }, (lines) =>
      page.add(lines),
    );
    return answerJson(logPageAnswer(page, leftOut));
  } finally {
    leave();
  }
}

const streamed = {
  200: {
    description:
      'Server-sent events: "log" for each line, with an id to resume from; "gap" where lines or pods were left out; "end".',
    contentType: 'text/event-stream',
  },
};

/** Looks up the revision or deployment before the stream begins, so that a wrong id gets a 404. */
async function stream(
  plane: LogPlane,
  ids: Ids,
  {
    query: { type = 'deploy', ...query },
    headers,
    ...call
  }: CallContext & { query: FollowQuery & { type?: LogType }; headers: IncomingHttpHeaders },
): Promise<Reply> {
  const find = async (signal: AbortSignal) => {
    const deployment = await findDeployment(plane, ids.deployment, { ...call, signal });
    return {
      deployment,
      type,
      revision:
        ids.revision === undefined
          ? undefined
          : await findRevision(plane, deployment, { id: ids.revision, signal }),
    };
  };
  await find(call.signal);
  const after = [headers['last-event-id']].flat()[0];
  return answerEvents((signal) => followLogs(plane, find, { signal, query, after }));
}

const readingRoutes = bindRoutes([
  route.get('/v2/deployments/{deployment_id}/logs', {
    id: 'getDeploymentLogs',
    summary: "Get the last log lines of a deployment's agent servers.",
    access: 'read',
    params: DeploymentPath,
    query: LogQuery,
    answers,
    handler: ({ params, query, caller, signal }, plane) =>
      answerLogs(
        plane,
        { deployment: params.deployment_id },
        { caller, signal, query, type: 'deploy' },
      ),
  }),
  route.get('/v2/deployments/{deployment_id}/revisions/{revision_id}/logs', {
    id: 'getRevisionLogs',
    summary: "Get the last log lines of a revision's agent servers, or of its build.",
    access: 'read',
    params: RevisionPath,
    query: TypedQuery,
    answers,
    handler: ({ params, query: { type, ...query }, caller, signal }, plane) =>
      answerLogs(
        plane,
        { deployment: params.deployment_id, revision: params.revision_id },
        { caller, signal, query, type },
      ),
  }),
  route.get('/v2/deployments/{deployment_id}/logs/stream', {
    id: 'followDeploymentLogs',
    summary: "Follow the log of a deployment's agent servers.",
    access: 'read',
    params: DeploymentPath,
    query: FollowQuery,
    answers: streamed,
    handler: ({ params, ...request }, plane) =>
      stream(plane, { deployment: params.deployment_id }, request),
  }),
  route.get('/v2/deployments/{deployment_id}/revisions/{revision_id}/logs/stream', {
    id: 'followRevisionLogs',
    summary: "Follow the log of a revision's agent servers, or of its build.",
    access: 'read',
    params: RevisionPath,
    query: FollowRevisionQuery,
    answers: streamed,
    handler: ({ params, ...request }, plane) =>
      stream(plane, { deployment: params.deployment_id, revision: params.revision_id }, request),
  }),
  // Older clients send a body instead of a query.
  route.post('/v1/projects/{project_id}/deploy_logs', {
    id: 'postDeployLogs',
    summary: "Get the last log lines of a deployment's agent servers.",
    access: 'read',
    params: ProjectPath,
    body: LogQuery,
    bodyOptional: true,
    answers,
    handler: ({ params, body, caller, signal }, plane) =>
      answerLogs(
        plane,
        { deployment: params.project_id },
        { caller, signal, query: body, type: 'deploy' },
      ),
  }),
  ...(['build', 'deploy'] as const).map((type) =>
    route.post(`/v1/projects/{project_id}/revisions/{revision_id}/${type}_logs`, {
      id: type === 'build' ? 'postRevisionBuildLogs' : 'postRevisionDeployLogs',
      summary: `Get the last log lines of a revision's ${type === 'build' ? 'build' : 'agent servers'}.`,
      access: 'read',
      params: ProjectRevisionPath,
      body: LogQuery,
      bodyOptional: true,
      answers,
      handler: ({ params, body, caller, signal }, plane) =>
        answerLogs(
          plane,
          { deployment: params.project_id, revision: params.revision_id },
          { caller, signal, query: body, type },
        ),
    }),
  ),
]);

export function logRoutes(plane: ControlPlane) {
  const reads = new LogReads(plane);
  const feeds = new LogFeeds({ log: plane.log, reads });
  return readingRoutes({ ...plane, reads, feeds, turns: new StreamTurns(), pages: new Places() });
}
