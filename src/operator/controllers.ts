import type { OperatorConfig } from '../config/platform/operator.ts';
import type { Recorder } from '../kube/events.ts';
import { Denied } from '../kube/errors.ts';
import { kinds } from '../kube/kinds.ts';
import type { Log } from '../log.ts';
import type { Tracing } from '../tracing/spans.ts';
import type { RevisionResource } from '../schema/platform/resources/custom-resources.ts';
import { BUILD_FINALIZER, FINALIZER } from '../schema/platform/objects/labels.ts';
import { buildDeploymentFinalizer } from './deployment/finalize.ts';
import { reconcileDeployment } from './deployment/reconcile.ts';
import { buildFaultyDeploymentStatus, buildRefusedDeploymentReport } from './deployment/status.ts';
import type { OperatorDeps } from './view/deps.ts';
import { buildJoinedTenantLookup } from './view/tenancy.ts';
import { Controller, type ControllerOptions } from './kernel/controller.ts';
import type { OperatorMetrics } from './kernel/metrics.ts';
import { buildListenerReport } from './listener/status.ts';
import type { Queues } from './wake.ts';
import { buildFaultyRevisionStatus } from './revision/refusal.ts';
import {
  buildRevisionFinalizer,
  reconcileRevision,
  buildRefusalReporter,
} from './revision/reconcile.ts';

type ControllersOptions = {
  deps: OperatorDeps;
  queues: Queues;
  record: Recorder;
  log: Log;
  metrics: OperatorMetrics;
  config: OperatorConfig;
  tracing: Tracing | undefined;
};

type Running = { start(): void; stop(): Promise<void> };

/** Creates one controller per kind. */
export function createControllers({
  deps,
  queues,
  record,
  log,
  metrics,
  config,
  tracing,
}: ControllersOptions): Running[] {
  const shared = {
    kube: deps.kube,
    record,
    log,
    tracing,
    workers: config.workers,
    clock: () => new Date(),
  };
  const deployments = new Controller({
    ...shared,
    queue: queues.deployments,
    observer: metrics.createControllerObserver('deployment', config.workers),
    reconciler: {
      name: 'deployment',
      kind: kinds.deployment,
      cache: deps.caches.deployments,
      reconcile: reconcileDeployment(deps),
      // A quota may get room by itself, so the deployment is tried again.
      refused: (deployment, refusal) =>
        refusal instanceof Denied
          ? undefined
          : buildRefusedDeploymentReport(deployment, refusal.message),
      faulty: buildFaultyDeploymentStatus,
      finalizer: { name: FINALIZER, finalize: buildDeploymentFinalizer(deps) },
      isPaused: ({ spec }) => spec.suspend === true,
    },
  });
  const revisions = new Controller({
    ...shared,
    queue: queues.revisions,
    observer: metrics.createControllerObserver('revision', config.workers),
    reconciler: {
      name: 'revision',
      kind: kinds.revision,
      cache: deps.caches.revisions,
      reconcile: reconcileRevision(deps),
      refused: buildRefusalReporter(deps),
      faulty: buildFaultyRevisionStatus,
      finalizer: {
        name: BUILD_FINALIZER,
        finalize: buildRevisionFinalizer(deps),
        isNeeded: ({ spec }) => spec.source === 'git' && deps.settings.builder !== undefined,
      },
      isPaused: ({ metadata, spec }) =>
        deps.caches.deployments.get(`${metadata.namespace}/${spec.deployment}`)?.spec.suspend ===
        true,
    },
  });
  return [deployments, revisions, createListenerController({ deps, queues, metrics }, shared)];
}

/** Creates the controller that reports of Listeners, whose namespaces are read in no hurry. */
function createListenerController(
  { deps, queues, metrics }: Pick<ControllersOptions, 'deps' | 'queues' | 'metrics'>,
  shared: Pick<
    ControllerOptions<RevisionResource, NonNullable<RevisionResource['status']>>,
    'kube' | 'record' | 'log' | 'clock'
  >,
): Running {
  return new Controller({
    ...shared,
    workers: 1,
    queue: queues.listeners,
    observer: metrics.createControllerObserver('listener', 1),
    reconciler: {
      name: 'listener',
      kind: kinds.listener,
      cache: deps.caches.listeners,
      reconcile: async (listener) => {
        const { caches, settings } = deps;
        const joined = buildJoinedTenantLookup(caches, settings);
        return buildListenerReport(listener, {
          all: caches.listeners.list(),
          joined,
          defaultTenantId: settings.defaultTenantId,
        });
      },
    },
  });
}
