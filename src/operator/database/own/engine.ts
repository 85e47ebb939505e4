import { buildObjectKey } from '../../../kube/cache.ts';
import { URI_KEY } from '../../../schema/platform/spec/database-spec.ts';
import { isRestorePending } from '../../../schema/platform/backup/restore-spec.ts';
import { COMPONENT, DATABASE_OF } from '../../../schema/platform/objects/labels.ts';
import { names } from '../../../schema/names.ts';
import { BY_DEPLOYMENT } from '../../view/caches.ts';
import { getReadySince } from '../../pods/diagnose.ts';
import { deriveSeenTemplate } from '../../pods/settled-template.ts';
import { getReplicas, isOrphan } from '../../pods/workload-state.ts';
import { getDatabaseAddress } from '../address.ts';
import type { DatabaseEngine, DatabasePass } from '../database.ts';
import { buildReadinessReport } from '../ready.ts';
import { getServedConnections } from './connections.ts';
import { buildDatabaseObjects } from './desired.ts';
import { buildFullnessReport } from './fullness.ts';
import { isAnswering, buildManagedCondition, PODLESS } from './ready.ts';
import { LOOK_AGAIN, buildRenewalCondition } from './turns.ts';
import {
  growVolume,
  listDataClaims,
  keepClaimWords,
  findKeptClaim,
  addFoundVolume,
  applyClaimSize,
} from './volume.ts';
import { Forbidden } from '../../../errors.ts';
import { kinds } from '../../../kube/kinds.ts';
import type { KubeObject } from '../../../kube/kube.ts';
import type { DeploymentResource } from '../../../schema/platform/resources/custom-resources.ts';
import { getDataOwner } from '../../objects/metadata.ts';
import type { OperatorDeps } from '../../view/deps.ts';
import type { PartPrepared } from '../../reports/part-report.ts';
import { listCredentials } from './credentials/list.ts';
import { buildDatabaseSet } from './set.ts';
import { claimName } from './volume-name.ts';
import { randomBytes } from 'node:crypto';
import { buildStalledOutcome, type ReconcileOutcome } from '../../kernel/outcome.ts';
import { filterCredentials, type Credential } from './credentials/credential.ts';
import { rotatePassword, type PasswordState } from './credentials/rotate.ts';
import { buildAdminCredential, buildDatabaseCredential } from './credentials/secret.ts';
import { resolveDataSettings } from './data-user.ts';
import { keepCertificate, type CertificateState } from './tls/keep.ts';
import { dropUndefined } from '../../../schema/json.ts';

/** The managed database: a Postgres for one deployment, in a StatefulSet of one pod with a volume that outlives it. */
export const own: DatabaseEngine = {
  // Nobody starts before the data is there.
  address: (deployment) =>
    isRestorePending(deployment)
      ? undefined
      : getDatabaseAddress(deployment, URI_KEY, names.databaseTls(deployment.metadata.name)),
  takesConnections: (_deployment, view) => isAnswering(view),
  answer({ caches, settings }, deployment) {
    const { namespace, name } = deployment.metadata;
    const pods = caches.pods.listByIndex(BY_DEPLOYMENT, buildObjectKey(deployment.metadata));
    const databasePods = pods.filter(({ metadata }) => metadata.labels?.[COMPONENT] === 'database');
    const live = {
      database: caches.statefulSets.get(`${namespace}/${names.database(name)}`),
      databasePods,
    };
    const since = Math.max(...databasePods.map((pod) => getReadySince(pod) ?? 0));
    return {
      databaseReady: isAnswering(live),
      databaseSince: since > 0 ? since : undefined,
      connections: getServedConnections(deployment, settings, live),
    };
  },
  runner: ({ metadata }, objects) =>
    objects.find(
      (object) =>
        object.kind === 'StatefulSet' && object.metadata.name === names.database(metadata.name),
    ),
  desired: buildDatabaseObjects,
  prepare: prepareDatabase,
  step: growVolume,
  report(deployment, facts) {
    const { view, written, now } = facts;
    const { statement, again } = buildFullnessReport(deployment, view.databasePods, now);
    const set = written.find(({ kind }) => kind === 'StatefulSet');
    const template = deriveSeenTemplate(set, deployment.status?.databaseTemplate);
    const held = view.renewalHeld;
    const { statements, ...report } = buildReadinessReport(
      buildManagedCondition(deployment, facts),
      view.databasePods.length === 0 ? PODLESS + 1 : undefined,
    );
    return {
      ...report,
      statements: [
        ...statements,
        ...(statement === undefined ? [] : [statement]),
        ...(held === undefined ? [] : [buildRenewalCondition(held)]),
      ],
      status: { ...(template !== undefined && { databaseTemplate: template }) },
      again: [again, held && LOOK_AGAIN],
    };
  },
  isStopped: ({ database, databasePods }) =>
    databasePods.length === 0 && (database === undefined || getReplicas(database) === 0),
  withoutEffect: [],
  hold: holdPod,
  release: removeData,
};

/**
 * Makes the set again for a pod that lost it, because the deployment was deleted between the two steps in which a
 * volume grows. The set adopts the pod and is deleted with it, because the operator itself may not delete pods.
 */
async function holdPod(
  { writer, settings }: OperatorDeps,
  deployment: DeploymentResource,
  { children, signal }: { children: KubeObject[]; signal: AbortSignal },
): Promise<void> {
  const isLost = children.some((child) => isOrphan(child, 'database'));
  if (!isLost || children.some(({ kind }) => kind === 'StatefulSet')) return;
  await writer.reconcile([buildDatabaseSet(deployment, settings, {})], [], signal);
}

/** Removes the volumes and their credentials if the policy is Delete. Returns the claims that are left. */
async function removeData(
  { kube, settings }: OperatorDeps,
  deployment: DeploymentResource,
  signal: AbortSignal,
): Promise<KubeObject[]> {
  const { namespace } = deployment.metadata;
  const policy = deployment.spec.deletionPolicy ?? settings.deletionPolicy;
  if (policy === 'Retain') return [];
  const credentials = await listCredentials({ kube }, deployment, signal).catch(skipForbidden);
  const admin = names.databaseAdmin(deployment.metadata.name, getDataOwner(deployment));
  for (const secret of [...credentials.map((known) => known.secret), admin])
    await kube.delete(kinds.secret, { namespace, name: secret }, {}, signal).catch(skipForbidden);
  const listed = (await listDataClaims({ kube }, deployment, signal)).map(
    ({ metadata }) => metadata.name,
  );
  // Somebody may have taken its labels away.
  const claims = [...new Set([claimName(deployment), ...listed])];
  for (const claim of claims)
    await kube.delete(kinds.volumeClaim, { namespace, name: claim }, {}, signal);
  const scope = { ...(namespace !== undefined && { namespace }) };
  const left = claims.map((claim) =>
    kube.listAll(kinds.volumeClaim, { ...scope, fieldSelector: `metadata.name=${claim}` }, signal),
  );
  return (await Promise.all(left)).flat();
}

/** A missing right must not hold the deployment forever. It may be missing because the namespace is being deleted. */
const skipForbidden = (error: unknown): [] => {
  if (error instanceof Forbidden) return [];
  throw error;
};

/**
 * Makes the credential and the certificate of a managed database, and moves a change of its password one step forward.
 */
async function prepareDatabase(
  deps: OperatorDeps,
  deployment: DeploymentResource,
  pass: DatabasePass,
): Promise<PartPrepared> {
  const { view, isHeld, signal } = pass;
  const first =
    isHeld || view.database !== undefined
      ? {}
      : await createFirstCredential(deps, deployment, signal);
  const password = await rotatePassword(deps, deployment, { ...pass, known: first.credentials });
  const mayGoOn = !isHeld && first.trouble === undefined;
  const certificate = mayGoOn ? await keepCertificate(deps, deployment, pass) : undefined;
  const claimWords = mayGoOn
    ? await keepClaimWords(deps, deployment, pass)
    : deployment.status?.claimWords;
  const isFound = mayGoOn && view.database === undefined && !isNew(deployment);
  const objects = isFound ? await buildObjectsWithVolume(deps, deployment, pass) : undefined;
  return {
    ...(first.trouble && { trouble: first.trouble }),
    ...(objects && { objects }),
    ...buildPrepared(deployment, password, certificate, claimWords),
  };
}

/** Returns the objects of a database whose set is not there, while its volume may be. */
async function buildObjectsWithVolume(
  deps: OperatorDeps,
  deployment: DeploymentResource,
  { view, signal }: DatabasePass,
): Promise<KubeObject[]> {
  const found = await addFoundVolume(deps, deployment, signal);
  const claim = await findKeptClaim(deps, found, signal);
  if (claim === undefined) return buildDatabaseObjects(found, deps.settings, view);
  return applyClaimSize(
    claim,
    buildDatabaseObjects(found, resolveDataSettings(deps.settings, claim), view),
  );
}

function buildPrepared(
  deployment: DeploymentResource,
  password: PasswordState,
  certificate: CertificateState | undefined,
  claimWords: string | undefined,
): PartPrepared {
  const { status } = deployment;
  const { secret, rotation, requestedAt, again } = password;
  return {
    secret,
    statements: rotation === undefined ? [] : [rotation],
    underWay: rotation,
    status: dropUndefined({
      databaseAdminSecret:
        secret && names.databaseAdmin(deployment.metadata.name, getDataOwner(deployment)),
      databaseCertificateUntil: certificate?.until ?? status?.databaseCertificateUntil,
      passwordRequestedAt: requestedAt,
      claimWords,
    }),
    again: [again, certificate?.again],
  };
}

/**
 * Makes the first password, unless one was kept. Credentials are read only while there is no database, so a settled
 * deployment reads no Secret.
 */
async function createFirstCredential(
  deps: OperatorDeps,
  deployment: DeploymentResource,
  signal: AbortSignal,
): Promise<{ trouble?: ReconcileOutcome; credentials?: Credential[] }> {
  const { name, annotations } = deployment.metadata;
  const known = isNew(deployment) ? [] : await listCredentials(deps, deployment, signal);
  if (known.length > 0) return { credentials: known };
  // Another password for an existing volume would lock everybody out.
  if (annotations?.[DATABASE_OF] !== undefined || deployment.status?.databaseSecret !== undefined) {
    const secret =
      deployment.status?.databaseSecret ?? names.databaseSecret(name, getDataOwner(deployment));
    return {
      trouble: buildStalledOutcome(
        'SecretMissing',
        `The kept database's credential ${secret} is not there.`,
      ),
    };
  }
  const requestedAt = deployment.spec.database?.passwordRequestedAt;
  const admin = buildAdminCredential(deployment, deps.settings, { random: randomBytes });
  const made = buildDatabaseCredential(deployment, deps.settings, {
    random: randomBytes,
    number: 0,
    requestedAt,
  });
  for (const secret of [admin, made]) await deps.writer.create(secret, signal);
  return { credentials: filterCredentials([made], deployment) };
}

/**
 * Returns true if the data is the deployment's own and its spec was never changed. A password can then only be the
 * first.
 */
const isNew = ({ metadata, status }: DeploymentResource): boolean =>
  metadata.generation === 1 &&
  metadata.annotations?.[DATABASE_OF] === undefined &&
  status?.databaseSecret === undefined;
