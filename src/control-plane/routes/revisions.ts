import { Type } from 'typebox';
import { answerJson, bindRoutes } from '../../http/routes/route.ts';
import type {
  DeploymentResource,
  RevisionResource,
} from '../../schema/platform/resources/custom-resources.ts';
import { Deployment, DeploymentPatchRequest } from '../../schema/platform/deployment/deployment.ts';
import { ENDED, REVISION_STATUSES } from '../../schema/platform/deployment/statuses.ts';
import { Revision, RevisionDetails } from '../../schema/platform/deployment/revision.ts';
import type { CallContext, Caller } from '../caller.ts';
import type { ControlPlane } from '../control-plane.ts';
import { answerForRevision } from '../deployments/answers.ts';
import { findDeployment } from '../deployments/lookup.ts';
import { patchDeployment } from '../deployments/patch.ts';
import { deployAgain } from '../deployments/redeploy.ts';
import { takePage, paging } from '../paging.ts';
import { findRevision, buildRevisionConverter } from '../revisions/answers.ts';
import { readRevisionDetails } from '../revisions/details.ts';
import { cancelRevision, release } from '../revisions/asked.ts';
import { answerDeployment } from './deployments.ts';
import {
  describePage,
  DeploymentPath,
  RevisionPath,
  rejected,
  buildRestRouteMakers,
} from './route.ts';
import { waitFor } from '../stored/follow.ts';
import { Invalid } from '../../errors.ts';
import { buildClosedSchema, buildEnumSchema } from '../../schema/types.ts';

const ListQuery = buildClosedSchema({
  ...paging,
  status: Type.Optional(
    Type.String({ description: `Statuses, separated by commas: ${REVISION_STATUSES.join(', ')}.` }),
  ),
  remote_reconciled: Type.Optional(
    Type.Boolean({ description: 'Whether the operator has seen the revision.' }),
  ),
});

/** The wait stays below the minute after which proxies give up on a silent request. */
const ReadQuery = buildClosedSchema({
  wait: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 50,
      description: 'Seconds to wait for the revision to finish.',
    }),
  ),
  view: Type.Optional(buildEnumSchema(['full'], { description: 'full: with all details.' })),
});

const route = buildRestRouteMakers<[ControlPlane]>('revisions');

function parseStatuses(text: string | undefined): readonly string[] {
  if (text === undefined) return REVISION_STATUSES;
  const statuses = text.split(',').map((word) => word.trim());
  const unknown = statuses.find((word) => !(REVISION_STATUSES as readonly string[]).includes(word));
  if (unknown !== undefined)
    throw new Invalid([
      { loc: ['query', 'status'], msg: `${unknown} is not a status`, type: 'enum' },
    ]);
  return statuses;
}

/** Returns true once the operator has seen the object. The status of a new one names a generation below all others. */
const hasBeenSeen = (observed: number | undefined): boolean =>
  observed !== undefined && observed > 0;

async function readAll(
  plane: ControlPlane,
  { deployment_id, revision_id }: { deployment_id: string; revision_id: string },
  asking: CallContext,
): Promise<RevisionDetails> {
  const deployment = await findDeployment(plane, deployment_id, asking);
  const revision = await findRevision(plane, deployment, {
    id: revision_id,
    signal: asking.signal,
  });
  return readRevisionDetails(
    plane,
    { deployment, revision },
    { role: asking.caller.role, signal: asking.signal },
  );
}

const changed = {
  description: 'The deployment is being deleted, or was changed at the same time.',
};

/** There are two words for it, because clients of both kinds are in use. */
const INTERRUPTIONS = [
  ['interrupt', 'interruptRevision'],
  ['interruption', 'interruptRevisionAlias'],
] as const;

/** Returns a route that does something to a revision, by this word below it, and answers with the revision. */
const buildRevisionAction = (
  { word, ...described }: { word: string; id: string; summary: string },
  act: (
    plane: ControlPlane,
    found: { deployment: DeploymentResource; revision: RevisionResource },
    caller: Caller,
  ) => Promise<RevisionResource>,
) =>
  route.post(`/v2/deployments/{deployment_id}/revisions/{revision_id}/${word}`, {
    ...described,
    access: 'write',
    params: RevisionPath,
    answers: { 200: { description: 'The revision.', schema: Revision }, 400: rejected },
    handler: async ({ params, ...asking }, plane) => {
      const deployment = await findDeployment(plane, params.deployment_id, asking);
      const revision = await findRevision(plane, deployment, {
        id: params.revision_id,
        signal: asking.signal,
      });
      return answerJson(
        buildRevisionConverter(
          plane,
          deployment,
        )(await act(plane, { deployment, revision }, asking.caller)),
      );
    },
  });

export const revisionRoutes = bindRoutes([
  route.get('/v2/deployments/{deployment_id}/revisions', {
    id: 'listRevisions',
    summary: "List a deployment's revisions, newest first.",
    access: 'read',
    params: DeploymentPath,
    query: ListQuery,
    answers: { 200: describePage(Revision) },
    handler: async ({ query, params, ...asking }, plane) => {
      const statuses = parseStatuses(query.status);
      const deployment = await findDeployment(plane, params.deployment_id, asking);
      const isMatching = (observed: number | undefined): boolean =>
        query.remote_reconciled === undefined || hasBeenSeen(observed) === query.remote_reconciled;
      const found = plane.stored
        .listRevisions(deployment)
        .filter((revision) => isMatching(revision.status?.observedGeneration))
        .map(buildRevisionConverter(plane, deployment))
        .filter(({ status }) => statuses.includes(status));
      const { items, offset } = takePage(found, query);
      return answerJson({ resources: items, offset });
    },
  }),
  route.get('/v2/deployments/{deployment_id}/revisions/{revision_id}', {
    id: 'getRevision',
    summary: 'Get a revision. Its status is DEPLOYED when it serves and its deployment says so.',
    access: 'read',
    params: RevisionPath,
    query: ReadQuery,
    answers: {
      200: {
        description: 'The revision; with view=full, all its details.',
        schema: Type.Union([RevisionDetails, Revision]),
      },
    },
    handler: async ({ params, query, ...asking }, plane) => {
      const read = (): Promise<Revision> =>
        query.view === 'full'
          ? readAll(plane, params, asking)
          : answerForRevision(plane, params, asking);
      if (query.wait === undefined || query.wait === 0) return answerJson(await read());
      const { uid } = (await findDeployment(plane, params.deployment_id, asking)).metadata;
      const waiting = { signal: asking.signal, seconds: query.wait };
      return answerJson(
        await waitFor(plane, waiting, { uid, read, done: ({ status }) => ENDED.includes(status) }),
      );
    },
  }),
  route.post('/v2/deployments/{deployment_id}/revisions', {
    id: 'createRevision',
    summary: 'Change a deployment, and always make a new revision.',
    access: 'write',
    params: DeploymentPath,
    body: DeploymentPatchRequest,
    bodyOptional: true,
    answers: {
      201: { description: 'The revision.', schema: Revision },
      400: rejected,
      409: changed,
    },
    handler: async ({ params, body, ...asking }, plane) => {
      const options = { id: params.deployment_id, dryRun: false, alwaysRevision: true };
      const deployment = await patchDeployment(plane, body, asking, options);
      const number = deployment.metadata.generation;
      const made = plane.stored
        .listRevisions(deployment)
        .find(({ spec }) => spec.number === number && spec.push === undefined);
      return answerJson(
        buildRevisionConverter(plane, deployment)(made as NonNullable<typeof made>),
        201,
      );
    },
  }),
  route.post('/v2/deployments/{deployment_id}/revisions/{revision_id}/redeploy', {
    id: 'redeployRevision',
    summary:
      'Redeploy a revision: make a new one that repeats it, with the secrets and sizes it had.',
    access: 'write',
    params: RevisionPath,
    answers: {
      200: { description: 'The deployment.', schema: Deployment },
      400: rejected,
      409: changed,
    },
    handler: async ({ params, ...asking }, plane) =>
      answerDeployment(
        plane,
        await deployAgain(
          plane,
          { deployment: params.deployment_id, revision: params.revision_id },
          asking,
        ),
        asking,
      ),
  }),
  buildRevisionAction(
    {
      word: 'release',
      id: 'releaseRevision',
      summary: 'Hand the work of a replaced revision over to the serving revision.',
    },
    release,
  ),
  ...INTERRUPTIONS.map(([word, id]) =>
    buildRevisionAction(
      { word, id, summary: 'Interrupt a revision that has not ended.' },
      (plane, { revision }, caller) => cancelRevision(plane, revision, caller),
    ),
  ),
]);
