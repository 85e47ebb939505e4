import type { CallContext } from '../caller.ts';
import type { ControlPlane } from '../control-plane.ts';
import { listTenantNamespaces } from './lookup.ts';
import { type Placement, choosePlacement } from './placement.ts';
import { toDeploymentResource } from './resource.ts';
import { startClone } from './restore.ts';
import { requireCluster, requireRules } from './rule-table.ts';
import { findOwnIntegration } from '../git/connections.ts';
import { callKube } from '../kube-refusal.ts';
import { buildRequestedBy } from '../requested-by.ts';
import { makeRevision } from '../revisions/make.ts';
import { randomUUID } from 'node:crypto';
import { Conflict, NotFound, Rejected, Unavailable } from '../../errors.ts';
import { AlreadyExists } from '../../kube/errors.ts';
import { kinds } from '../../kube/kinds.ts';
import type { DeploymentResource } from '../../schema/platform/resources/custom-resources.ts';
import type { DeploymentCreateRequest } from '../../schema/platform/deployment/deployment.ts';
import { checkRepoUrl } from '../../schema/platform/source/repo-url.ts';
import { resolveTenantId } from '../../schema/platform/objects/tenant-id.ts';

/**
 * How long to wait for garbage collection to remove the leftovers of a deployment of the same name. It takes seconds.
 */
const LEFTOVERS_MILLISECONDS = 5000;

export type CreateOptions = { dryRun: boolean; annotations?: Record<string, string> };

/**
 * Checks the request, then writes the Secret, the Deployment and the Revision, in this order. If the process dies in
 * between, the operator or a retry completes or removes the objects that were written.
 */
export async function createDeployment(
  plane: ControlPlane,
  body: DeploymentCreateRequest,
  call: CallContext,
  options: CreateOptions,
): Promise<DeploymentResource> {
  const place = await checkCreate(plane, body, call);
  await waitForLeftovers(plane, body.name, { place, signal: call.signal });
  const { tenantId } = call.caller;
  const owner = { deployment: body.name, namespace: place.namespace, tenantId };
  const annotations = { ...options.annotations, ...buildRequestedBy(call.caller) };
  const where = { namespace: place.namespace, tenantId, annotations };
  const listener = body.source === 'external_container' ? place.listener : undefined;
  if (options.dryRun)
    return runInNamespace(place, () =>
      callKube(() =>
        plane.kube.create(kinds.deployment, toDeploymentResource(body, where, { listener }), {
          dryRun: true,
        }),
      ),
    );
  const clone = await startClone(plane, body, call);
  const store = () =>
    callKube(() =>
      plane.secrets.store(owner, {
        secrets: body.secrets,
        nonce: randomUUID(),
        caller: call.caller,
      }),
    );
  const secretName = body.secrets.length === 0 ? undefined : await runInNamespace(place, store);
  const resource = toDeploymentResource(body, where, { listener, secretName, clone });
  const stored = await runInNamespace(place, () => writeOrUndo(plane, resource));
  await makeRevision(plane, stored, call.caller);
  return plane.stored.note.deployment(stored);
}

/** Throws for the first thing that forbids this deployment; nothing is written yet. */
async function checkCreate(
  plane: ControlPlane,
  body: DeploymentCreateRequest,
  call: CallContext,
): Promise<Placement> {
  const { config, stored } = plane;
  const change = { kind: 'create', sent: body, wanted: body, startsPods: true } as const;
  requireRules(change, {
    config,
    namespaces: listTenantNamespaces(plane, call.caller),
    now: new Date(),
  });
  if (body.source === 'git') await checkRepository(plane, body, call);
  const own = stored
    .listPlaces()
    .filter(({ spec }) => resolveTenantId(spec, config.defaultTenantId) === call.caller.tenantId);
  const place = choosePlacement(body, own, config.namespaces);
  await requireCluster(plane, change, { name: body.name, namespace: place.namespace, ...call });
  return place;
}

/** Throws unless the repository belongs to an integration of the caller's tenant. */
async function checkRepository(
  plane: ControlPlane,
  { source_config: config }: DeploymentCreateRequest,
  call: CallContext,
): Promise<void> {
  const integration = await findOwnIntegration(plane, config.integration_id ?? '', call);
  if (integration === undefined)
    throw new Rejected('source_config.integration_id: no integration has this id');
  const fault = checkRepoUrl(integration, config.repo_url ?? '');
  if (fault !== undefined) throw new Rejected(`source_config.repo_url: ${fault}`);
}

/**
 * Waits until the revisions of a deleted deployment of the same name are gone, because they hold the names of new ones.
 */
async function waitForLeftovers(
  { stored }: ControlPlane,
  name: string,
  { place, signal }: { place: Placement; signal: AbortSignal },
): Promise<void> {
  const patience = AbortSignal.any([signal, AbortSignal.timeout(LEFTOVERS_MILLISECONDS)]);
  while (stored.listRevisionsNamed(place.namespace, name).length > 0) {
    if (patience.aborted) throw new Conflict(`A deployment named ${name} is still being deleted.`);
    await stored.waitForChange(patience);
  }
}

async function writeOrUndo(
  { kube }: ControlPlane,
  resource: DeploymentResource,
): Promise<DeploymentResource> {
  const { name, namespace = '' } = resource.metadata;
  try {
    return await callKube(() => kube.create(kinds.deployment, resource));
  } catch (error) {
    const { secretName } = resource.spec.template;
    // When the answer was lost, the deployment may exist and need its Secret. The operator removes Secrets that nothing
    // refers to.
    const refused = error instanceof Conflict || error instanceof Rejected;
    if (refused && secretName !== undefined)
      await kube.delete(kinds.secret, { namespace, name: secretName }).catch(() => false);
    if (error instanceof AlreadyExists)
      throw new Conflict(`A deployment named ${name} already exists.`, { cause: error });
    // A conflict here is a quota that the API server counted twice at once, and nothing was made.
    throw error instanceof Conflict ? new Unavailable(error.message, { cause: error }) : error;
  }
}

async function runInNamespace<T>(place: Placement, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    if (!(error instanceof NotFound)) throw error;
    throw new Rejected(
      `source_config.listener_config.k8s_namespace: there is no namespace ${place.namespace}`,
      { cause: error },
    );
  }
}
