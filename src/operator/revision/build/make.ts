import { buildNamespaces, type Builder, type StagedBuilds } from '../../../config/builder.ts';
import { Rejected, Unavailable } from '../../../errors.ts';
import { headOf } from '../../../git/ls-refs.ts';
import { KubeRefused, taken } from '../../../kube/errors.ts';
import { kinds, type KubeObject } from '../../../kube/kube.ts';
import type { RevisionResource } from '../../../schema/custom-resources.ts';
import type { GitIntegration } from '../../../schema/git-connection.ts';
import { COMPONENT } from '../../../schema/labels.ts';
import { names } from '../../../schema/names.ts';
import type { OperatorDeps } from '../../family/deps.ts';
import { remoteOf } from '../../family/git-remote.ts';
import { idle, type Decision } from '../decision.ts';
import { buildFailed, isJobOver } from './by-job.ts';
import { buildJob } from './job.ts';
import type { BuildWorld } from './observe.ts';
import { lendCredential, lendTo, type PreparedSource } from './lend.ts';
import { keepsOwnUsers, mayHaveOwnUsers, placeOfBuild, USERS_OFF } from './place.ts';
import { inLine } from './staged.ts';
import { stagedJob } from './staged-job.ts';

type Deps = Pick<OperatorDeps, 'kube' | 'writer' | 'settings' | 'buildTurns' | 'gitPlaces'>;
type Making = { decision: Decision; build: BuildWorld | undefined; signal: AbortSignal };

/** Requests the build of a revision. Returns the decision as it is then: the build may have to wait, or can't begin. */
export async function makeBuild(deps: Deps, revision: RevisionResource, { decision, build, signal }: Making): Promise<Decision> {
  const { builder } = deps.settings;
  if (decision.build !== 'make' || builder === undefined) return decision;
  if (builder.staged !== undefined) return requestStaged(deps, revision, { builder, staged: builder.staged, decision, build, signal });
  const job = buildJob(revision, builder, deps.settings);
  // The Job was just searched by its labels, so an existing one without them is not ours.
  if (!(await deps.writer.create(job, signal))) throw taken(`Job ${job.metadata.name}`);
  return decision;
}

/** Seconds until the next look, where a Job is counted whose build has ended: it says so a moment after its pod. */
const SOON = 2;

type Staging = Making & { builder: Builder; staged: StagedBuilds };

async function requestStaged(deps: Deps, revision: RevisionResource, making: Staging): Promise<Decision> {
  const { decision, build, staged, signal } = making;
  const source = build?.source;
  if (source === undefined || 'fault' in source) return decision;
  const { hasBuildkit } = placeOfBuild(revision, making.builder, staged);
  if (hasBuildkit && !(await nodesHaveUsers(deps, signal))) return buildFailed({ reason: 'UserNamespacesOff', message: USERS_OFF });
  // The line that the caches show may be a moment old.
  if ((await unfinished(deps, staged, signal)) >= staged.parallel) return inLine(1, SOON);
  try {
    const known = await prepared(deps, revision, { staged, integration: source.integration, signal });
    if ('missing' in known) return buildFailed({ reason: 'RefMissing', message: known.missing });
    return await started(deps, revision, { ...making, source: known });
  } catch (error) {
    if (error instanceof Rejected) return buildFailed({ reason: 'CloneFailed', message: error.message });
    if (!(error instanceof Unavailable) || !error.message.startsWith('The git host ')) throw error;
    return idle('AWAITING_BUILD', error.message, { reason: 'GitHostAway', again: LOOK_AGAIN });
  }
}

/** A platform that may not look at nodes finds out by the pod itself. */
async function nodesHaveUsers({ kube }: Pick<Deps, 'kube'>, signal: AbortSignal): Promise<boolean> {
  try {
    return mayHaveOwnUsers(await kube.all(kinds.node, {}, signal));
  } catch (error) {
    if (error instanceof KubeRefused && error.status === 403) return true;
    throw error;
  }
}

/** Seconds after which a git host that did not answer is asked again. */
const LOOK_AGAIN = 20;

/** Creates the Job, unless others that were requested at the same moment have taken the last places. */
const started = (
  deps: Deps,
  revision: RevisionResource,
  { builder, staged, source, decision, signal }: Staging & { source: PreparedSource },
): Promise<Decision> =>
  deps.buildTurns.run(async () => {
    if ((await unfinished(deps, staged, signal)) >= staged.parallel) return inLine(1, SOON);
    const { namespace, hasBuildkit } = placeOfBuild(revision, builder, staged);
    const lent = hasBuildkit ? await lendTo(deps, revision, { builder, staged, namespace, source, signal }) : undefined;
    const credentialSecret = hasBuildkit ? undefined : await lendCredential(deps, revision, { namespace, source, signal });
    const job = stagedJob(
      revision,
      { ...source, credentialSecret, lent },
      { builder, staged, imagePullPolicy: deps.settings.imagePullPolicy },
    );
    if (!(await deps.writer.create(job, signal))) throw taken(`Job ${job.metadata.name}`);
    deps.buildTurns.note(source.tenant);
    if (hasBuildkit && !keepsOwnUsers(await madeJob(deps, job, signal))) {
      await dropBuild(deps, revision, signal);
      return buildFailed({ reason: 'UserNamespacesOff', message: USERS_OFF });
    }
    return { ...decision, ...(source.commit !== undefined && { commitSha: source.commit }) };
  });

/** Returns the Job as the API server took it. */
async function madeJob({ kube }: Pick<Deps, 'kube'>, { metadata }: KubeObject, signal: AbortSignal): Promise<KubeObject | undefined> {
  const { namespace = '', name } = metadata;
  const jobs = await kube.all(kinds.job, { namespace, labelSelector: `${COMPONENT}=build` }, signal);
  return jobs.find((known) => known.metadata.name === name);
}

/** Returns how many Jobs of builds have not ended. */
async function unfinished({ kube }: Pick<Deps, 'kube'>, staged: StagedBuilds, signal: AbortSignal): Promise<number> {
  const list = (namespace: string) => kube.all(kinds.job, { namespace, labelSelector: `${COMPONENT}=build` }, signal);
  const jobs = (await Promise.all(buildNamespaces({ staged }).map(list))).flat();
  return jobs.filter((job) => !isJobOver(job) && job.metadata.deletionTimestamp === undefined).length;
}

type Source = { staged: StagedBuilds; integration: GitIntegration; signal: AbortSignal };

/** Finds the commit that is to be built, and what opens the repository. */
async function prepared(deps: Deps, revision: RevisionResource, place: Source): Promise<PreparedSource | { missing: string }> {
  const { integration, staged, signal } = place;
  const { repoUrl = '' } = revision.spec.sourceConfig ?? {};
  const { repoRef = '' } = revision.spec.template.sourceRevisionConfig ?? {};
  const remote = await remoteOf(deps, { integration, url: repoUrl, staged, signal });
  const commit = pinnedCommit(revision) ?? (remote.isWeb ? await headOf(remote, repoRef, signal) : undefined);
  if (commit === undefined && remote.isWeb) return { missing: `There is no ${repoRef} in ${repoUrl}.` };
  return { insecureGit: repoUrl.startsWith('http://'), tenant: integration.tenantId, commit, git: remote.shown };
}

/** A build that goes on with BuildKit is of the same commit. */
const pinnedCommit = ({ spec, status }: RevisionResource): string | undefined =>
  spec.commit ?? (status?.buildsWith === undefined ? undefined : status.commitSha);

/** Ends a build and removes what was made for it. Its pod goes with its Job. */
export async function dropBuild(
  { kube, settings }: Pick<Deps, 'kube' | 'settings'>,
  { metadata }: RevisionResource,
  signal: AbortSignal,
): Promise<void> {
  const staged = settings.builder?.staged;
  if (staged === undefined) {
    await kube.delete(kinds.job, { namespace: metadata.namespace, name: names.buildJob(metadata.name) }, {}, signal);
    return;
  }
  for (const namespace of buildNamespaces({ staged })) {
    const ref = { namespace, name: names.stagedBuild(metadata.name, metadata.uid ?? '') };
    await kube.delete(kinds.job, ref, {}, signal);
    await kube.delete(kinds.secret, ref, {}, signal);
  }
}
