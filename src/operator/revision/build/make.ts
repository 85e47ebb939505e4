import { buildNamespaces, type Builder } from '../../../config/platform/builder.ts';
import { Rejected } from '../../../errors.ts';
import { fetchHeadCommit } from '../../../git/ls-refs.ts';
import { buildObjectKey } from '../../../kube/cache.ts';
import { KubeRefused, buildNameTaken } from '../../../kube/errors.ts';
import { kinds } from '../../../kube/kinds.ts';
import type { KubeObject } from '../../../kube/kube.ts';
import type { RevisionResource } from '../../../schema/platform/resources/custom-resources.ts';
import type { GitIntegration } from '../../../schema/platform/source/git-connection.ts';
import { COMPONENT, TENANT } from '../../../schema/platform/objects/labels.ts';
import { names } from '../../../schema/names.ts';
import { isHostAway, type BuildLook } from '../../branches/build-looks.ts';
import type { OperatorDeps } from '../../view/deps.ts';
import { joinRepositoryHosts, resolveRemote } from '../../view/git-remote.ts';
import { buildIdleDecision, type Decision } from '../decision.ts';
import { buildFailed, isJobOver } from './by-job.ts';
import type { BuildWorld } from './observe.ts';
import { hasUserNamespace, mayHaveOwnUsers, chooseBuildPlace, USERS_OFF } from './place.ts';
import { buildInLineDecision } from './staged.ts';
import { buildStagedJob, buildStagedMetadata, type Lent, type StagedSource } from './staged-job.ts';

type BuildPass = { decision: Decision; build: BuildWorld | undefined; signal: AbortSignal };

/** Requests the build of a revision. Returns the decision as it is then: the build may have to wait, or can't begin. */
export async function makeBuild(
  deps: OperatorDeps,
  revision: RevisionResource,
  { decision, build, signal }: BuildPass,
): Promise<Decision> {
  const { builder } = deps.settings;
  const source = build?.source;
  if (
    decision.build !== 'make' ||
    builder === undefined ||
    source === undefined ||
    'fault' in source
  )
    return decision;
  const { hasBuildkit } = chooseBuildPlace(revision, builder);
  if (hasBuildkit && !(await canUseUserNamespaces(deps, signal)))
    return buildFailed({ reason: 'UserNamespacesOff', message: USERS_OFF });
  // The line that the caches show may be a moment old.
  if (!(await hasPlace(deps, builder, source.integration.tenantId, signal)))
    return buildInLineDecision(1, SOON);
  return beginBuild(deps, revision, { builder, integration: source.integration, decision, signal });
}

/** Begins the build once its git host has named the commit. The host's answer wakes the revision. */
async function beginBuild(
  deps: OperatorDeps,
  revision: RevisionResource,
  { decision, signal, ...source }: Source & Pick<BuildPass, 'decision' | 'signal'>,
): Promise<Decision> {
  const found = deps.buildLooks.answer(lookBefore(deps, revision, source));
  if (found === undefined)
    return buildIdleDecision('AWAITING_BUILD', ASKED, { reason: 'BuildQueued', again: LOOK_AGAIN });
  if ('error' in found) return decideWithoutSource(found.error);
  const { builder, integration } = source;
  const insecureGit = revision.spec.sourceConfig?.repoUrl?.startsWith('http://') === true;
  const prepared = {
    insecureGit,
    tenant: integration.tenantId,
    commit: found.commit,
    git: found.shown,
  };
  try {
    return await createBuildJob(deps, revision, { builder, source: prepared, decision, signal });
  } catch (error) {
    return decideWithoutSource(error);
  }
}

const ASKED = 'The git host is asked for the commit.';
/** Seconds after which a git host that did not answer is asked again. */
const LOOK_AGAIN = 20;

/** A branch, tag or commit that the repository does not have. */
class RefMissing extends Rejected {}

/** Decides for a build whose git host refuses it or does not answer. Throws any other error. */
function decideWithoutSource(error: unknown): Decision {
  if (error instanceof RefMissing)
    return buildFailed({ reason: 'RefMissing', message: error.message });
  if (error instanceof Rejected)
    return buildFailed({ reason: 'CloneFailed', message: error.message });
  if (!isHostAway(error)) throw error;
  return buildIdleDecision('AWAITING_BUILD', error.message, {
    reason: 'GitHostAway',
    again: LOOK_AGAIN,
  });
}

/** Seconds until the next look, where a Job is counted whose build has ended: it says so a moment after its pod. */
const SOON = 2;

/** A platform that may not look at nodes finds out by the pod itself. */
async function canUseUserNamespaces({ kube }: OperatorDeps, signal: AbortSignal): Promise<boolean> {
  try {
    return mayHaveOwnUsers(await kube.listAll(kinds.node, {}, signal));
  } catch (error) {
    if (error instanceof KubeRefused && error.status === 403) return true;
    throw error;
  }
}

/** Creates the Job, unless others that were requested at the same moment have taken the last places. */
const createBuildJob = (
  deps: OperatorDeps,
  revision: RevisionResource,
  {
    builder,
    source,
    decision,
    signal,
  }: Pick<BuildPass, 'decision' | 'signal'> & { builder: Builder; source: PreparedSource },
): Promise<Decision> =>
  deps.buildTurns.run(async () => {
    if (!(await hasPlace(deps, builder, source.tenant, signal)))
      return buildInLineDecision(1, SOON);
    const { namespace, hasBuildkit } = chooseBuildPlace(revision, builder);
    const lent = hasBuildkit
      ? await createLentSecret(deps, revision, { builder, namespace, source, signal })
      : undefined;
    const credentialSecret = hasBuildkit
      ? undefined
      : await createCredentialSecret(deps, revision, { namespace, source, signal });
    const job = buildStagedJob(
      revision,
      { ...source, credentialSecret, lent },
      { ...deps.settings, builder },
    );
    if (!(await deps.writer.create(job, signal))) throw buildNameTaken(`Job ${job.metadata.name}`);
    deps.buildTurns.note(source.tenant);
    if (hasBuildkit && !hasUserNamespace(await findMadeJob(deps, job, signal))) {
      await dropBuild(deps, revision, signal);
      return buildFailed({ reason: 'UserNamespacesOff', message: USERS_OFF });
    }
    return { ...decision, ...(source.commit !== undefined && { commitSha: source.commit }) };
  });

/** Returns the Job as the API server took it. */
async function findMadeJob(
  { kube }: OperatorDeps,
  { metadata }: KubeObject,
  signal: AbortSignal,
): Promise<KubeObject | undefined> {
  const { namespace = '', name } = metadata;
  const jobs = await kube.listAll(
    kinds.job,
    { namespace, labelSelector: `${COMPONENT}=build` },
    signal,
  );
  return jobs.find((known) => known.metadata.name === name);
}

/** Returns true if there is a place for one more build of a tenant, by the Jobs of builds that have not ended. */
async function hasPlace(
  { kube }: OperatorDeps,
  builder: Builder,
  tenant: string,
  signal: AbortSignal,
): Promise<boolean> {
  const list = (namespace: string) =>
    kube.listAll(kinds.job, { namespace, labelSelector: `${COMPONENT}=build` }, signal);
  const jobs = (await Promise.all(buildNamespaces(builder).map(list))).flat();
  const open = jobs.filter(
    (job) => !isJobOver(job) && job.metadata.deletionTimestamp === undefined,
  );
  const own = open.filter((job) => job.metadata.labels?.[TENANT] === tenant);
  return open.length < builder.parallelInAll && own.length < builder.parallel;
}

type Source = { builder: Builder; integration: GitIntegration };

/** Returns the look that finds the commit that is to be built, and the credential of the repository. */
function lookBefore(
  deps: OperatorDeps,
  revision: RevisionResource,
  { builder, integration }: Source,
): BuildLook {
  const { repoUrl = '' } = revision.spec.sourceConfig ?? {};
  const { repoRef = '' } = revision.spec.template.sourceRevisionConfig ?? {};
  const { uid = '' } = revision.metadata;
  return {
    key: buildObjectKey(revision.metadata),
    uid,
    tenant: integration.tenantId,
    host: joinRepositoryHosts(repoUrl, integration),
    ask: async (signal) => {
      const remote = await resolveRemote(deps, { integration, url: repoUrl, builder, signal });
      // A build that goes on with BuildKit is of the same commit.
      const commit =
        revision.spec.commit ??
        (revision.status?.buildsWith === undefined ? undefined : revision.status.commitSha) ??
        (remote.isWeb ? await fetchHeadCommit(remote, repoRef, signal) : undefined);
      if (commit === undefined && remote.isWeb)
        throw new RefMissing(`There is no ${repoRef} in ${repoUrl}.`);
      return { commit, shown: remote.shown };
    },
  };
}

/** Ends a build and removes the objects that were made for it. Its pod goes with its Job. */
export async function dropBuild(
  { kube, settings }: OperatorDeps,
  { metadata }: RevisionResource,
  signal: AbortSignal,
): Promise<void> {
  for (const namespace of buildNamespaces(settings.builder)) {
    const ref = { namespace, name: names.stagedBuild(metadata.name, metadata.uid ?? '') };
    await kube.delete(kinds.job, ref, {}, signal);
    await kube.delete(kinds.secret, ref, {}, signal);
  }
}

const AUTHORITIES = 'ca.crt';
const REGISTRY = '.dockerconfigjson';

type PreparedSource = StagedSource & {
  git?: Record<string, string> | undefined;
};
type Lending = { builder: Builder; namespace: string; source: PreparedSource; signal: AbortSignal };

/** Lends one build the credential of its git host, in a Secret that goes with it. Returns the Secret's name. */
async function createCredentialSecret(
  deps: OperatorDeps,
  revision: RevisionResource,
  { namespace, source, signal }: Pick<Lending, 'namespace' | 'source' | 'signal'>,
): Promise<string | undefined> {
  return (
    source.git &&
    keep(deps, buildStagedMetadata(revision, namespace, source.tenant), source.git, signal)
  );
}

/**
 * Lends one build in another namespace the data that it needs, in a Secret that goes with it: credentials of its git
 * host and of the registry, and certificate authorities.
 */
async function createLentSecret(
  deps: OperatorDeps,
  revision: RevisionResource,
  { builder, namespace, source, signal }: Lending,
): Promise<Lent | undefined> {
  const { kube } = deps;
  const home = { namespace: builder.namespace };
  const { git = {} } = source;
  const registry = await readRegistryCredential(deps, builder.registrySecretName, {
    ...home,
    signal,
  });
  const ca = builder.caConfigMapName;
  const trusted =
    ca === undefined
      ? undefined
      : (await kube.find(kinds.configMap, { ...home, name: ca }, signal))?.data?.[AUTHORITIES];
  const data = {
    ...git,
    ...(registry !== undefined && { [REGISTRY]: registry }),
    ...(trusted !== undefined && { [AUTHORITIES]: Buffer.from(trusted).toString('base64') }),
  };
  if (Object.keys(data).length === 0) return undefined;
  const secret = await keep(
    deps,
    buildStagedMetadata(revision, namespace, source.tenant),
    data,
    signal,
  );
  return {
    secret,
    git: Object.keys(git),
    registry: registry !== undefined,
    authorities: trusted !== undefined,
  };
}

async function readRegistryCredential(
  { kube }: OperatorDeps,
  name: string | undefined,
  { namespace, signal }: { namespace: string; signal: AbortSignal },
): Promise<string | undefined> {
  if (name === undefined) return undefined;
  const found = await kube.find(kinds.secret, { namespace, name }, signal);
  if (found === undefined)
    throw new Rejected(`The Secret ${name} is not in the namespace ${namespace}.`);
  return found.data?.[REGISTRY];
}

/** Writes the Secret of a build, in place of one that an earlier attempt has left. */
async function keep(
  { kube, writer }: OperatorDeps,
  metadata: ReturnType<typeof buildStagedMetadata>,
  data: Record<string, string>,
  signal: AbortSignal,
): Promise<string> {
  const { name, namespace = '' } = metadata;
  await kube.delete(kinds.secret, { namespace, name }, {}, signal);
  if (
    !(await writer.create(
      { apiVersion: 'v1', kind: 'Secret', metadata, type: 'Opaque', data },
      signal,
    ))
  )
    throw buildNameTaken(`Secret ${name}`);
  return name;
}
