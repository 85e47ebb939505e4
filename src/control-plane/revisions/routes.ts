import { Type } from 'typebox';
import { json, type Route } from '../../http/route.ts';
import { Deployment, DeploymentPatchRequest } from '../../schema/deployment.ts';
import { ENDED, Revision, REVISION_STATUSES } from '../../schema/revision.ts';
import { Uuid } from '../../schema/types.ts';
import { answerForRevision, findDeployment, findRevision, revisionAnswers } from '../deployments/find.ts';
import { patchDeployment } from '../deployments/patch.ts';
import { deploymentReply, DeploymentPath, failures, notFound } from '../deployments/routes.ts';
import { Invalid } from '../../errors.ts';
import { waitFor } from '../events/follow.ts';
import { route, type Caller, type Needs } from '../needs.ts';
import { pageOf, paging } from '../paging.ts';
import { interrupt } from './interrupt.ts';
import { redeploy } from './redeploy.ts';

export const RevisionPath = Type.Object({ ...DeploymentPath.properties, revision_id: Uuid('Id of the revision.') });

const ListQuery = Type.Object(
  {
    ...paging,
    status: Type.Optional(Type.String({ description: `Statuses, separated by commas: ${REVISION_STATUSES.join(', ')}.` })),
    remote_reconciled: Type.Optional(Type.Boolean({ description: 'Whether the operator has seen the revision.' })),
  },
  { additionalProperties: false },
);

/** Below the minute after which proxies give up on a silent request. */
const WaitQuery = Type.Object(
  { wait: Type.Optional(Type.Integer({ minimum: 0, maximum: 50, description: 'Seconds to wait for the end of the revision.' })) },
  { additionalProperties: false },
);

const tag = 'revisions';

function statusesOf(text: string | undefined): readonly string[] {
  if (text === undefined) return REVISION_STATUSES;
  const statuses = text.split(',').map((word) => word.trim());
  const unknown = statuses.find((word) => !(REVISION_STATUSES as readonly string[]).includes(word));
  if (unknown !== undefined) throw new Invalid([{ loc: ['query', 'status'], msg: `${unknown} is not a status`, type: 'enum' }]);
  return statuses;
}

/** A new object's status speaks of a generation below every other. */
const hasBeenSeen = (observed: number | undefined): boolean => observed !== undefined && observed > 0;

export const revisionRoutes = (needs: Needs): Route<Caller>[] => [...reads(needs), ...writes(needs)];

const reads = (needs: Needs): Route<Caller>[] => [
  route({
    method: 'get',
    path: '/v2/deployments/{deployment_id}/revisions',
    id: 'listRevisions',
    summary: "List a deployment's revisions, newest first.",
    tag,
    access: 'read',
    params: DeploymentPath,
    query: ListQuery,
    answers: {
      200: { description: 'One page.', schema: Type.Object({ resources: Type.Array(Revision), offset: Type.Integer() }) },
      404: notFound,
      ...failures,
    },
    handler: async ({ query, params, ...asking }) => {
      const statuses = statusesOf(query.status);
      const deployment = await findDeployment(needs, params.deployment_id, asking);
      const seen = (observed: number | undefined): boolean =>
        query.remote_reconciled === undefined || hasBeenSeen(observed) === query.remote_reconciled;
      const found = needs.stored
        .revisionsOf(deployment)
        .filter((revision) => seen(revision.status?.observedGeneration))
        .map(revisionAnswers(needs, deployment))
        .filter(({ status }) => statuses.includes(status));
      const { items, offset } = pageOf(found, query);
      return json({ resources: items, offset });
    },
  }),
  route({
    method: 'get',
    path: '/v2/deployments/{deployment_id}/revisions/{revision_id}',
    id: 'getRevision',
    summary: 'Get a revision. Its status is DEPLOYED when it serves and its deployment says so.',
    tag,
    access: 'read',
    params: RevisionPath,
    query: WaitQuery,
    answers: { 200: { description: 'The revision.', schema: Revision }, 404: notFound, ...failures },
    handler: async ({ params, query, ...asking }) => {
      const read = (): Promise<Revision> => answerForRevision(needs, params, asking);
      if (query.wait === undefined || query.wait === 0) return json(await read());
      return json(
        await waitFor(needs, { signal: asking.signal, seconds: query.wait }, { read, done: ({ status }) => ENDED.includes(status) }),
      );
    },
  }),
];

const changed = { description: 'It is being deleted, or was changed at the same time.' };
const rejected = { description: 'A rule forbids it; detail begins with the field.' };

const writes = (needs: Needs): Route<Caller>[] => [
  route({
    method: 'post',
    path: '/v2/deployments/{deployment_id}/revisions',
    id: 'createRevision',
    summary: 'Change a deployment and make a revision in any case.',
    tag,
    access: 'write',
    params: DeploymentPath,
    body: DeploymentPatchRequest,
    bodyOptional: true,
    answers: { 201: { description: 'The revision.', schema: Revision }, 400: rejected, 404: notFound, 409: changed, ...failures },
    handler: async ({ params, body, ...asking }) => {
      const options = { id: params.deployment_id, dryRun: false, alwaysRevision: true };
      const deployment = await patchDeployment(needs, body, asking, options);
      const number = deployment.metadata.generation;
      const made = needs.stored.revisionsOf(deployment).find(({ spec }) => spec.number === number);
      return json(revisionAnswers(needs, deployment)(made as NonNullable<typeof made>), 201);
    },
  }),
  route({
    method: 'post',
    path: '/v2/deployments/{deployment_id}/revisions/{revision_id}/redeploy',
    id: 'redeployRevision',
    summary: 'Make a new revision that repeats this one, with the secrets and sizes it had.',
    tag,
    access: 'write',
    params: RevisionPath,
    answers: { 200: { description: 'The deployment.', schema: Deployment }, 400: rejected, 404: notFound, 409: changed, ...failures },
    handler: async ({ params, ...asking }) =>
      deploymentReply(needs, await redeploy(needs, { deployment: params.deployment_id, revision: params.revision_id }, asking), asking),
  }),
  ...['interrupt', 'interruption'].map((word) => interruption(needs, word)),
];

/** Two words, because clients of both are about. */
const interruption = (needs: Needs, word: string): Route<Caller> =>
  route({
    method: 'post',
    path: `/v2/deployments/{deployment_id}/revisions/{revision_id}/${word}`,
    id: word === 'interrupt' ? 'interruptRevision' : 'interruptRevisionAlias',
    summary: 'Give up a revision that has not ended.',
    tag,
    access: 'write',
    params: RevisionPath,
    answers: { 200: { description: 'The revision.', schema: Revision }, 400: rejected, 404: notFound, ...failures },
    handler: async ({ params, ...asking }) => {
      const deployment = await findDeployment(needs, params.deployment_id, asking);
      const revision = await findRevision(needs, deployment, { id: params.revision_id, signal: asking.signal });
      return json(revisionAnswers(needs, deployment)(await interrupt(needs, revision)));
    },
  });
