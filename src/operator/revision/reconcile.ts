import { explainByLog } from './log-cause.ts';
import type { Denied, KubeRefused } from '../../kube/errors.ts';
import type { Log } from '../../log.ts';
import type { RevisionResource } from '../../schema/platform/resources/custom-resources.ts';
import { names } from '../../schema/names.ts';
import type { Pin } from '../../schema/platform/rollout/pins.ts';
import type { OperatorDeps } from '../view/deps.ts';
import type { Reconcile } from '../kernel/controller.ts';
import { buildSettledOutcome, type Report } from '../kernel/outcome.ts';
import { choosePin } from '../rollout/pins.ts';
import { isEnded } from '../rollout/revisions.ts';
import { keepBuildLog } from './build/keep-log.ts';
import { dropBuild, makeBuild } from './build/make.ts';
import { countRevisionSecondsLeft } from './deadline.ts';
import { decideRevision } from './decide.ts';
import type { Decision } from './decision.ts';
import { buildRevisionWorkloads, type RevisionPlan } from './desired.ts';
import { observeRevision } from './observe.ts';
import type { Situation } from './world.ts';
import { buildRefusedRevisionReport } from './refusal.ts';
import { buildRevisionReport, type RevisionStatusFields } from './status.ts';
import { readLogTail } from './log-tail.ts';
import { adoptSecret } from './secret-copy.ts';

/** The observations and the decision of one reconcile of a revision, and the findings of its parts since. */
type RevisionPass = Situation & {
  decision: Decision;
  secretName?: string | undefined;
  logTail?: string | undefined;
  buildLog?: string | undefined;
  /** The kind of work that its pods pin to it. It stays as it was when they were first made. */
  pin: Pin;
};

/** A part of a revision that is no workload. It comes before these, and returns the facts that it changes. */
type RevisionPart = (
  deps: OperatorDeps,
  facts: RevisionPass,
  pass: { signal: AbortSignal; log: Log },
) => Promise<Partial<RevisionPass>>;

const build: RevisionPart = async (deps, { revision, world, decision }, { signal }) => ({
  decision: await makeBuild(deps, revision, { decision, build: world.build, signal }),
});

const keepEnvironment: RevisionPart = async (deps, { revision, world }, { signal }) => ({
  secretName: await adoptSecret(deps, revision, { found: world.environment, signal }),
});

// Logs are read before pods and builds are removed, because they go with them.
const keepLogs: RevisionPart = async (deps, { revision, world, decision }, { signal, log }) => {
  const tail = await readLogTail(deps.kube, revision, { decision, signal, log });
  const buildLog = await keepBuildLog(deps, revision, {
    decision,
    build: world.build,
    signal,
    log,
  });
  return {
    logTail: tail,
    buildLog,
    decision: { ...decision, message: explainByLog(decision, tail) },
  };
};

const dropFormerBuild: RevisionPart = async (deps, { revision, decision }, { signal }) => {
  if (decision.build === 'drop') await dropBuild(deps, revision, signal);
  return {};
};

const PARTS: readonly RevisionPart[] = [build, keepEnvironment, keepLogs, dropFormerBuild];

/** Starts a revision beside the serving one, and stops it when it has failed or was replaced. */
export const reconcileRevision =
  (deps: OperatorDeps): Reconcile<RevisionResource, RevisionStatusFields> =>
  async (revision, { signal, log, now }) => {
    const { settings, writer } = deps;
    const world = await observeRevision(deps, revision, { signal, now });
    const situation = { revision, world, settings };
    const pin =
      revision.status?.pin ?? (isEnded(revision) ? 'None' : choosePin(world.deployment, settings));
    let facts: RevisionPass = { ...situation, pin, decision: decideRevision(situation) };
    for (const part of PARTS) facts = { ...facts, ...(await part(deps, facts, { signal, log })) };
    const desired = buildRevisionWorkloads(revision, buildRevisionPlan(facts), settings);
    const wanted = desired.map(({ metadata }) => metadata.name);
    const live = [world.api, world.queue].filter((workload) => workload !== undefined);
    const existing = live.filter(({ metadata }) => wanted.includes(metadata.name));
    const standing = await writer.reconcile(desired, existing, signal);
    return buildRevisionReport(revision, {
      ...facts,
      secondsLeft: countRevisionSecondsLeft(situation),
      standing,
    });
  };

const buildRevisionPlan = ({ world, decision, secretName, pin }: RevisionPass): RevisionPlan => ({
  wish: decision.wish,
  pin,
  secretName,
  address: world.address,
  connections: world.connections,
  deploymentId: world.deployment?.spec.id,
  budgets: world.deployment?.spec.budgets,
  isQueueGiven: world.deployment?.spec.queueReplicas !== undefined,
  image: decision.image,
  live: world,
});

/** Reports what it means for a revision that the API server refused one of its objects. */
export const buildRefusalReporter =
  ({ caches, settings, absences }: OperatorDeps) =>
  (
    revision: RevisionResource,
    refusal: KubeRefused | Denied,
    now: Date,
  ): Report<RevisionStatusFields> | undefined => {
    const { namespace, name } = revision.metadata;
    const world = {
      deployment: caches.deployments.get(`${namespace}/${revision.spec.deployment}`),
      absences: absences(),
      now,
    };
    const isMade = caches.workloads.get(`${namespace}/${names.apiWorkload(name)}`) !== undefined;
    return buildRefusedRevisionReport(revision, {
      refusal,
      now,
      isMade,
      secondsLeft: countRevisionSecondsLeft({ revision, world, settings }),
    });
  };

/** Removes the build of a deleted revision, which lies in another namespace and so goes with nobody. */
export const buildRevisionFinalizer =
  (deps: OperatorDeps): Reconcile<RevisionResource, RevisionStatusFields> =>
  async (revision, { signal }) => {
    await dropBuild(deps, revision, signal);
    const {
      conditions: _conditions,
      observedGeneration: _generation,
      ...status
    } = revision.status ?? {};
    return { outcome: buildSettledOutcome('Nothing is left.', 'Deleted'), statements: [], status };
  };
