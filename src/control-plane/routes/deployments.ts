import { Type, type Static } from 'typebox';
import { Conflict, skipNotFound } from '../../errors.ts';
import {
  answerJson,
  answerNoContent,
  bindRoutes,
  type AnswerDescription,
  type Reply,
} from '../../http/routes/route.ts';
import type { DeploymentResource } from '../../schema/platform/resources/custom-resources.ts';
import {
  Deployment,
  DeploymentCreateRequest,
  DeploymentPatchRequest,
  WrittenDeployment,
} from '../../schema/platform/deployment/deployment.ts';
import { ENDED } from '../../schema/platform/deployment/statuses.ts';
import { buildClosedSchema, buildUuidSchema, buildOptionalFields } from '../../schema/types.ts';
import type { CallContext } from '../caller.ts';
import type { ControlPlane } from '../control-plane.ts';
import { answerForDeployment } from '../deployments/answers.ts';
import { createDeployment } from '../deployments/create.ts';
import { buildDryRunPlan } from '../deployments/dry-run.ts';
import { buildMadeBy, completeReplay } from '../deployments/idempotency.ts';
import { ListAnswer, ListQuery, listDeployments } from '../deployments/list.ts';
import { findDeployment } from '../deployments/lookup.ts';
import { buildEtag, patchDeployment } from '../deployments/patch.ts';
import { type Removal, removeDeployment, removeDeployments } from '../deployments/remove.ts';
import { buildRevisionConverter } from '../revisions/answers.ts';
import { DeploymentPath, rejected, specVersion, buildRestRouteMakers } from './route.ts';
import { waitFor } from '../stored/follow.ts';

const WriteQuery = buildClosedSchema({
  dry_run: Type.Optional(
    Type.Boolean({ default: false, description: 'Check everything, write nothing.' }),
  ),
  wait: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 600,
      description: 'Seconds to wait for the newest revision to finish before answering.',
    }),
  ),
});
const removal = {
  ...buildOptionalFields({
    delete_tracing_project: Type.Boolean({
      default: false,
      description: 'Remove the tracing project too.',
    }),
    delete_data: Type.Boolean({
      default: false,
      description: 'Remove the database volume too, regardless of the deletion policy.',
    }),
    without_backup: Type.Boolean({
      default: false,
      description:
        'Do not wait for the backup that `before_deletion` requires. A second request may set this.',
    }),
  }),
};
const RemoveQuery = buildClosedSchema(removal);
const toRemoval = (query: Static<typeof RemoveQuery>): Removal => ({
  tracingProject: query.delete_tracing_project === true,
  data: query.delete_data === true,
  withoutBackup: query.without_backup === true,
});
const BulkQuery = buildClosedSchema({
  ...removal,
  deployment_ids: Type.Array(buildUuidSchema('Repeat the parameter for each id.'), {
    minItems: 1,
    maxItems: 100,
  }),
});
const BulkAnswer = Type.Object({
  deleted: Type.Array(buildUuidSchema('Deletion was requested.')),
  failed: Type.Array(
    Type.Object({
      id: buildUuidSchema('Not deleted.'),
      status: Type.Integer(),
      detail: Type.String(),
    }),
  ),
});

const describeAnswer = (description: string): AnswerDescription => ({
  description,
  schema: Deployment,
  headers: specVersion,
});

const route = buildRestRouteMakers<[ControlPlane]>('deployments');

/** Answers with the deployment and its version. */
export async function answerDeployment(
  plane: ControlPlane,
  deployment: DeploymentResource,
  { status = 200, ...call }: CallContext & { status?: number },
): Promise<Reply> {
  return answerJson(await answerForDeployment(plane, deployment, call), status, {
    etag: buildEtag(deployment),
  });
}

/** Answers with the deployment as it would be, and the objects that would be written. */
async function answerPlan(
  plane: ControlPlane,
  change: Parameters<typeof buildDryRunPlan>[0],
  { status = 200, ...call }: CallContext & { status?: number },
): Promise<Reply> {
  return answerJson(
    { ...(await answerForDeployment(plane, change.after, call)), plan: buildDryRunPlan(change) },
    status,
    { etag: buildEtag(change.after) },
  );
}

/**
 * Answers once the newest revision has ended or the time is up. If the deployment is gone by then, the answer shows it
 * as it was written.
 */
async function answerAfterWait(
  plane: ControlPlane,
  written: DeploymentResource,
  { query, ...call }: CallContext & { status?: number; query: Static<typeof WriteQuery> },
): Promise<Reply> {
  const { wait = 0 } = query;
  if (wait === 0) return answerDeployment(plane, written, call);
  const seconds = { signal: call.signal, seconds: wait };
  const now = await waitFor(plane, seconds, {
    uid: written.metadata.uid,
    read: () => findDeployment(plane, plane.stored.getId(written), call).catch(skipNotFound),
    done: (deployment) => deployment === undefined || hasNewestRevisionEnded(plane, deployment),
  });
  return answerDeployment(plane, now ?? written, call);
}

/** Returns true when the newest revision has ended. */
function hasNewestRevisionEnded(plane: ControlPlane, deployment: DeploymentResource): boolean {
  const latest = plane.stored.listRevisions(deployment)[0];
  return (
    latest !== undefined && ENDED.includes(buildRevisionConverter(plane, deployment)(latest).status)
  );
}

export const deploymentRoutes = bindRoutes([
  route.post('/v2/deployments', {
    id: 'createDeployment',
    summary:
      'Create a deployment and its first revision. An Idempotency-Key header makes a repeat answer as the first time.',
    access: 'write',
    query: WriteQuery,
    body: DeploymentCreateRequest,
    answers: {
      201: { ...describeAnswer('The deployment.'), schema: WrittenDeployment },
      400: rejected,
      409: { description: 'The name, or the host and path of custom_url, is already taken.' },
    },
    handler: async (request, plane) => {
      const { body, headers } = request;
      const key = [headers['idempotency-key']].flat()[0];
      const findReplay = () => completeReplay(plane, body, { key, ...request });
      const before = await findReplay();
      const answer = (deployment: DeploymentResource): Promise<Reply> =>
        answerAfterWait(plane, deployment, { ...request, status: 201 });
      if (before !== undefined) return answer(before);
      const options = {
        dryRun: request.query.dry_run === true,
        ...(key !== undefined && { annotations: buildMadeBy(key, body) }),
      };
      try {
        const made = await createDeployment(plane, body, request, options);
        if (!options.dryRun) return await answer(made);
        return await answerPlan(
          plane,
          { before: undefined, after: made, secrets: body.secrets },
          { ...request, status: 201 },
        );
      } catch (error) {
        if (!(error instanceof Conflict) || key === undefined) throw error;
        // The same request, answered by another replica, may have taken the name.
        await plane.stored.readDeployments(request.signal);
        const other = await findReplay();
        if (other === undefined) throw error;
        return answer(other);
      }
    },
  }),
  route.get('/v2/deployments', {
    id: 'listDeployments',
    summary: 'List deployments, newest first. The offset in the answer is that of the next page.',
    access: 'read',
    query: ListQuery,
    answers: {
      200: { description: 'One page.', schema: ListAnswer },
    },
    handler: async (request, plane) =>
      answerJson(await listDeployments(plane, request.query, request)),
  }),
  route.get('/v2/deployments/{deployment_id}', {
    id: 'getDeployment',
    summary: 'Get a deployment.',
    access: 'read',
    params: DeploymentPath,
    answers: { 200: describeAnswer('The deployment.') },
    handler: async (request, plane) =>
      answerDeployment(
        plane,
        await findDeployment(plane, request.params.deployment_id, request),
        request,
      ),
  }),
  route.patch('/v2/deployments/{deployment_id}', {
    id: 'patchDeployment',
    summary:
      'Change a deployment. null leaves a field as it is; repo_ref, gx_config_path, image_uri, auth, secrets and resource_spec make a revision.',
    access: 'write',
    params: DeploymentPath,
    query: WriteQuery,
    body: DeploymentPatchRequest,
    answers: {
      200: { ...describeAnswer('The deployment.'), schema: WrittenDeployment },
      400: rejected,
      409: {
        description:
          'The deployment is being deleted or was changed at the same time, or another one has the host and path of custom_url.',
      },
      412: { description: 'The deployment is not at the version that If-Match names.' },
    },
    handler: async (request, plane) => {
      const options = {
        id: request.params.deployment_id,
        dryRun: request.query.dry_run === true,
        ifMatch: request.headers['if-match'],
      };
      const before = options.dryRun ? await findDeployment(plane, options.id, request) : undefined;
      const patched = await patchDeployment(plane, request.body, request, options);
      if (options.dryRun)
        return answerPlan(
          plane,
          { before, after: patched, secrets: request.body.secrets },
          request,
        );
      return answerAfterWait(plane, patched, request);
    },
  }),
  route.delete('/v2/deployments/{deployment_id}', {
    id: 'deleteDeployment',
    summary: 'Delete a deployment. It answers AWAITING_DELETE until all of it is gone, then 404.',
    access: 'write',
    params: DeploymentPath,
    query: RemoveQuery,
    answers: { 204: { description: 'Deletion has begun.' } },
    handler: async (request, plane) => {
      await removeDeployment(
        plane,
        request.params.deployment_id,
        request,
        toRemoval(request.query),
      );
      return answerNoContent();
    },
  }),
  route.delete('/v2/deployments', {
    id: 'deleteDeployments',
    summary: 'Delete several deployments.',
    access: 'write',
    query: BulkQuery,
    answers: {
      200: { description: 'All were deleted.', schema: BulkAnswer },
      207: { description: 'Some could not be deleted; failed says why.', schema: BulkAnswer },
    },
    handler: async ({ query, ...call }, plane) => {
      const outcome = await removeDeployments(plane, query.deployment_ids, call, toRemoval(query));
      return answerJson(outcome, outcome.failed.length === 0 ? 200 : 207);
    },
  }),
]);
