import type { Denied, KubeRefused } from '../../kube/errors.ts';
import type { RevisionResource } from '../../schema/custom-resources.ts';
import { names } from '../../schema/names.ts';
import type { OperatorDeps } from '../family/deps.ts';
import type { Reconcile } from '../kernel/controller.ts';
import type { Report } from '../kernel/outcome.ts';
import { adoptSecret } from './adopt-secret.ts';
import { keepBuildLog } from './build/keep-log.ts';
import { dropBuild, makeBuild } from './build/make.ts';
import { decideRevision, secondsLeft } from './decide.ts';
import { desiredRevision } from './desired.ts';
import { logTail } from './log-tail.ts';
import { observeRevision } from './observe.ts';
import { refusedRevision } from './refusal.ts';
import { revisionReport, type RevisionStatusFields } from './status.ts';

/** Starts a revision beside the serving one, and stops it when it has failed or was replaced. */
export const reconcileRevision =
  (deps: OperatorDeps): Reconcile<RevisionResource, RevisionStatusFields> =>
  async (revision, { signal, log, now }) => {
    const { kube, writer, settings } = deps;
    const world = await observeRevision(deps, revision, { signal, now });
    const situation = { revision, world, settings };
    const decision = await makeBuild(deps, revision, { decision: decideRevision(situation), build: world.build, signal });
    const secretName = await adoptSecret(deps, revision, { environment: world.environment, signal });
    // The log is read before the pods are removed, because it goes with them.
    const tail = await logTail(kube, revision, { decision, signal, log });
    const buildLog = await keepBuildLog(deps, revision, { decision, build: world.build, signal, log });
    if (decision.build === 'drop') await dropBuild(deps, revision, signal);
    const given = {
      wish: decision.wish,
      secretName,
      address: world.address,
      connections: world.connections,
      deploymentId: world.deployment?.spec.id,
      isQueueGiven: world.deployment?.spec.queueReplicas !== undefined,
      image: decision.image,
      live: world,
    };
    const desired = desiredRevision(revision, given, settings);
    const wanted = desired.map(({ metadata }) => metadata.name);
    const existing = [world.api, world.queue]
      .flatMap((workload) => workload ?? [])
      .filter(({ metadata }) => wanted.includes(metadata.name));
    const standing = await writer.reconcile(desired, existing, signal);
    return revisionReport(revision, {
      decision,
      world,
      secondsLeft: secondsLeft(situation),
      secretName,
      logTail: tail,
      buildLog,
      standing,
    });
  };

/** Reports what it means for a revision that the API server refused one of its objects. */
export const revisionRefused =
  ({ caches, settings, absences }: Pick<OperatorDeps, 'caches' | 'settings' | 'absences'>) =>
  (revision: RevisionResource, refusal: KubeRefused | Denied, now: Date): Report<RevisionStatusFields> | undefined => {
    const { namespace, name } = revision.metadata;
    const world = { deployment: caches.deployments.get(`${namespace}/${revision.spec.deployment}`), absences: absences(), now };
    const isMade = caches.workloads.get(`${namespace}/${names.apiWorkload(name)}`) !== undefined;
    return refusedRevision(revision, { refusal, now, isMade, secondsLeft: secondsLeft({ revision, world, settings }) });
  };
