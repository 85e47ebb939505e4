import { randomBytes } from 'node:crypto';
import type { OperatorSettings } from '../config/platform/operator.ts';
import type { Kube } from '../kube/kube.ts';
import type { Log } from '../log.ts';
import { hashOperatorKey } from '../schema/wire/operator-key.ts';
import type { OperatorMetrics } from './kernel/metrics.ts';
import {
  buildDrainingLookup,
  buildInterruptedLookup,
  buildScalableLookup,
  buildTrialLookup,
  buildUsageNewsLookup,
  sleepConcernIn,
} from './rollout/scalable.ts';
import { BudgetTeller } from './scale/budget-teller.ts';
import { PromQueries } from './scale/prom-queries.ts';
import { WorkFollower } from './scale/work-follower.ts';
import { exportArchiveLag } from './series/export-objects.ts';
import type { Caches } from './view/caches.ts';
import { PortKeeper } from './view/port-keeper.ts';
import { listSpendingDeployments } from './view/tenancy.ts';
import { wakeForDrain, wakeForFacts, wakeForWork, type Queues } from './wake.ts';

/* The operator's talk with gateways: it follows their reports of agents, and tells them the budgets of tenants. */

type Following = { caches: Caches; settings: OperatorSettings; queues: Queues; log: Log };

/** Creates the parts that talk with gateways: their ports, the reports of agents, and the words about budgets. */
export function createGatewayTalk(
  { caches, settings, queues, log }: Following,
  {
    kube,
    namespace,
    gateways,
    metrics,
  }: { kube: Kube; namespace: string; gateways: () => string[]; metrics: OperatorMetrics },
) {
  const operatorKey = randomBytes(32).toString('base64url');
  const operatorKeyHash = hashOperatorKey(operatorKey);
  const ports = new PortKeeper({ kube, namespace, caches, operatorKeyHash });
  const lagged = exportArchiveLag(metrics, caches.deployments);
  const follower = createWorkFollower(
    { caches, settings, queues, log },
    { gateways, ports, lagged, observer: metrics.createWorkObserver() },
  );
  const teller = createBudgetTeller({ caches, settings, log }, { gateways, follower, operatorKey });
  return { ports, follower, teller };
}

type Reports = Pick<
  ConstructorParameters<typeof WorkFollower>[0],
  'gateways' | 'observer' | 'lagged'
> & { ports: PortKeeper };

const createWorkFollower = (
  { caches, settings, queues, log }: Following,
  { ports, ...reports }: Reports,
): WorkFollower =>
  new WorkFollower({
    ...reports,
    signs: (keys, signal) => ports.keepGatewayKeys(keys, signal),
    scalable: buildScalableLookup(caches, settings),
    concernsSleep: sleepConcernIn(caches, settings, () => new Date()),
    interrupted: buildInterruptedLookup(caches),
    isUsageNews: buildUsageNewsLookup(caches, () => new Date()),
    wake: wakeForWork(caches, queues),
    draining: buildDrainingLookup(caches, settings),
    trial: buildTrialLookup(caches),
    queries:
      settings.prometheusUrl === undefined
        ? undefined
        : new PromQueries({ url: settings.prometheusUrl, log }),
    wakeDraining: wakeForDrain(queues),
    learned: wakeForFacts(caches, queues),
    downSeconds: settings.queueScaleDownSeconds,
    log,
  });

const createBudgetTeller = (
  { caches, settings, log }: Omit<Following, 'queues'>,
  {
    gateways,
    follower,
    operatorKey,
  }: { gateways: () => string[]; follower: WorkFollower; operatorKey: string },
): BudgetTeller =>
  new BudgetTeller({
    gateways,
    budgets: settings.tenantBudgets,
    key: operatorKey,
    deployments: () =>
      listSpendingDeployments(caches, settings, (key) => follower.getSummary(key)?.usage),
    log,
  });
