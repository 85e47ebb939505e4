import type { CallContext } from '../caller.ts';
import type { ControlPlane } from '../control-plane.ts';
import { belongsTo, namespacesOf } from './lookup.ts';
import { checkCustomUrl } from './custom-url.ts';
import { type Placement, placeFor } from './placement.ts';
import { deploymentResource, namesDatabase } from './resource.ts';
import { refusedSecrets } from './refused-secrets.ts';
import { brokenBackup } from './backup-rules.ts';
import { brokenRestore, checkRestore, requestClone } from './restore.ts';
import { brokenRules, brokenSecrets, brokenSize, findLargeVariables, unansweredQueries, unfitSources } from './rules.ts';
import { ownIntegration } from '../git/connections.ts';
import { refusing } from '../kube-refusal.ts';
import { brokenImages } from '../pod-policy/image-rules.ts';
import { brokenPlaces } from '../pod-policy/place-rules.ts';
import { checkReferences } from '../pod-policy/references.ts';
import { brokenPodRules } from '../pod-policy/rules.ts';
import { requestedBy } from '../requested-by.ts';
import { makeRevision } from '../revisions/make.ts';
import { randomUUID } from 'node:crypto';
import { Conflict, Invalid, NotFound, Rejected, Unavailable } from '../../errors.ts';
import { AlreadyExists } from '../../kube/errors.ts';
import { kinds } from '../../kube/kube.ts';
import type { DeploymentResource, TracingProjectResource } from '../../schema/platform/custom-resources.ts';
import type { DeploymentCreateRequest } from '../../schema/platform/deployment.ts';
import { repoUrlFault } from '../../schema/platform/repo-url.ts';
import { namedTenant, tenantOfProject } from '../../schema/platform/tenancy.ts';

/**
 * How long to wait for garbage collection to remove the leftovers of a deployment of the same name. It takes seconds.
 */
const LEFTOVERS_MILLISECONDS = 5000;

type Plane = Pick<ControlPlane, 'config' | 'integrations' | 'kube' | 'secrets' | 'stored'>;

export type CreateOptions = { dryRun: boolean; annotations?: Record<string, string> };

/**
 * Checks the request, then writes the Secret, the Deployment and the Revision, in this order. If the process dies in
 * between, the operator or a retry completes or removes the objects that were written.
 */
export async function createDeployment(
  plane: Plane,
  body: DeploymentCreateRequest,
  call: CallContext,
  options: CreateOptions,
): Promise<DeploymentResource> {
  const place = await checked(plane, body, call);
  await leftoversGone(plane, body.name, { place, signal: call.signal });
  const { tenantId } = call.caller;
  const owner = { deployment: body.name, namespace: place.namespace, tenantId };
  const annotations = { ...options.annotations, ...requestedBy(call.caller) };
  const where = { namespace: place.namespace, tenantId, annotations };
  const listener = body.source === 'external_container' ? place.listener : undefined;
  if (options.dryRun)
    return inNamespace(place, () =>
      refusing(() => plane.kube.create(kinds.deployment, deploymentResource(body, where, { listener }), { dryRun: true })),
    );
  const clone = await requestClone(plane, body, call);
  const store = () => refusing(() => plane.secrets.store(owner, { secrets: body.secrets, nonce: randomUUID(), caller: call.caller }));
  const secretName = body.secrets.length === 0 ? undefined : await inNamespace(place, store);
  const resource = deploymentResource(body, where, { listener, secretName, clone });
  const stored = await inNamespace(place, () => writeOrUndo(plane, resource));
  await makeRevision(plane, stored, call.caller);
  return plane.stored.note.deployment(stored);
}

/** Throws for the first thing that forbids this deployment; nothing is written yet. */
async function checked(plane: Plane, body: DeploymentCreateRequest, call: CallContext): Promise<Placement> {
  const { config, stored } = plane;
  const unfit = [...unfitSources(body), ...findLargeVariables(body)];
  if (unfit.length > 0) throw new Invalid(unfit);
  const broken = [
    ...brokenRules(body, config),
    ...unansweredQueries(body, config.asksPrometheus),
    ...brokenPodRules(body.source_config.resource_spec, config.grants, config.objectKeys),
    ...brokenPlaces(body, { grants: config.grants, hasDatabase: !namesDatabase(body.secrets) }),
    ...brokenImages(config.builtImages, {
      spec: body.source_config.resource_spec,
      image: body.source_revision_config.image_uri,
      namespaces: namespacesOf(plane, call.caller),
    }),
    ...brokenSecrets(body.secrets),
    ...refusedSecrets(body.secrets),
    ...brokenSize(body),
    ...brokenBackup(body, { hasDatabase: !namesDatabase(body.secrets), now: new Date() }),
    ...brokenRestore(body, new Date()),
  ];
  if (broken.length > 0) throw new Rejected(broken.join('; '));
  if (body.source === 'git') await checkRepository(plane, body, call);
  const own = stored.places().filter(({ spec }) => namedTenant(spec, config.defaultTenantId) === call.caller.tenantId);
  const place = placeFor(body, own, config.namespaces);
  checkCustomUrl(plane, { name: body.name, namespace: place.namespace, url: body.source_config.custom_url });
  await nameFree(plane, body.name, { place, call });
  const { resource_spec: spec } = body.source_config;
  await checkRestore(plane, body, { namespace: place.namespace, ...call });
  await checkReferences(plane.kube, { spec, namespace: place.namespace, rules: config, signal: call.signal });
  return place;
}

/** Throws unless the repository belongs to an integration of the caller's tenant. */
async function checkRepository(
  plane: Pick<ControlPlane, 'integrations'>,
  { source_config: config }: DeploymentCreateRequest,
  call: CallContext,
): Promise<void> {
  const integration = await ownIntegration(plane, config.integration_id ?? '', call);
  if (integration === undefined) throw new Rejected('source_config.integration_id: no integration has this id');
  const fault = repoUrlFault(integration, config.repo_url ?? '');
  if (fault !== undefined) throw new Rejected(`source_config.repo_url: ${fault}`);
}

/**
 * Throws if the name is taken. It reads the owner of the name again, because the object that the watch shows may have
 * been deleted.
 */
async function nameFree(
  plane: Pick<ControlPlane, 'config' | 'stored'>,
  name: string,
  { place, call }: { place: Placement; call: CallContext },
): Promise<void> {
  const { stored, config } = plane;
  const { caller, signal } = call;
  const mine = belongsTo(plane, caller);
  const namesakes = (): DeploymentResource[] =>
    stored.named(name).filter((other) => mine(other) || other.metadata.namespace === place.namespace);
  const projects = (): TracingProjectResource[] =>
    stored.projectsNamed(name).filter((project) => tenantOfProject(project, stored.owners(), config.defaultTenantId) === caller.tenantId);
  await Promise.all([
    ...namesakes().map((deployment) => stored.refresh.deployment(deployment, signal)),
    ...projects().map((project) => stored.refresh.project(project, signal)),
  ]);
  if (namesakes().length > 0) throw new Conflict(`A deployment named ${name} already exists.`);
  if (projects().length > 0)
    throw new Conflict(`Deployments create a tracing project of their name, and there is already a tracing project named ${name}.`);
}

/**
 * Waits until the revisions of a deleted deployment of the same name are gone, because they hold the names of new ones.
 */
async function leftoversGone(
  { stored }: Pick<ControlPlane, 'stored'>,
  name: string,
  { place, signal }: { place: Placement; signal: AbortSignal },
): Promise<void> {
  const patience = AbortSignal.any([signal, AbortSignal.timeout(LEFTOVERS_MILLISECONDS)]);
  while (stored.revisionsNamed(place.namespace, name).length > 0) {
    if (patience.aborted) throw new Conflict(`A deployment named ${name} is still being deleted.`);
    await stored.changed(patience);
  }
}

async function writeOrUndo({ kube }: Pick<ControlPlane, 'kube'>, resource: DeploymentResource): Promise<DeploymentResource> {
  const { name, namespace = '' } = resource.metadata;
  try {
    return await refusing(() => kube.create(kinds.deployment, resource));
  } catch (error) {
    const { secretName } = resource.spec.template;
    // When the answer was lost, the deployment may exist and need its Secret. The operator removes Secrets that nothing
    // refers to.
    const refused = error instanceof Conflict || error instanceof Rejected;
    if (refused && secretName !== undefined) await kube.delete(kinds.secret, { namespace, name: secretName }).catch(() => false);
    if (error instanceof AlreadyExists) throw new Conflict(`A deployment named ${name} already exists.`, { cause: error });
    // A conflict here is a quota that the API server counted twice at once, and nothing was made.
    throw error instanceof Conflict ? new Unavailable(error.message, { cause: error }) : error;
  }
}

async function inNamespace<T>(place: Placement, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    if (!(error instanceof NotFound)) throw error;
    throw new Rejected(`source_config.listener_config.k8s_namespace: there is no namespace ${place.namespace}`, { cause: error });
  }
}
