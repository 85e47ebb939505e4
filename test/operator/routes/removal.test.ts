import { beforeEach, expect, test } from 'vitest';
import { readOperatorConfig } from '../../../src/config/platform/operator.ts';
import { Unavailable } from '../../../src/errors.ts';
import { kinds } from '../../../src/kube/kinds.ts';
import type { Kube } from '../../../src/kube/kube.ts';
import { reconcileDeployment } from '../../../src/operator/deployment/reconcile.ts';
import { Writer } from '../../../src/operator/kernel/writer.ts';
import type { ReconcileOutcome } from '../../../src/operator/kernel/outcome.ts';
import { listWrittenKinds } from '../../../src/operator/view/caches.ts';
import type { OperatorDeps } from '../../../src/operator/view/deps.ts';
import { deployment } from '../../kit/objects.ts';
import { paperCluster } from '../../kit/paper-cluster.ts';

/* A deployment gives up its route, and the API server refuses to remove it. Nothing else would wake the deployment. */

const KEY = 'team/chat';
const ROUTE = {
  kind: 'HTTPRoute',
  parentRefs: [{ name: 'public', namespace: 'gateways' }],
  host: '{name}.{namespace}.example.com',
};
let cluster: ReturnType<typeof paperCluster>;

beforeEach(async () => {
  const { route, formerRoutes, routeProxies } = readOperatorConfig({
    GX_ROUTE: JSON.stringify(ROUTE),
  }).settings;
  const given = { ...(route && { route }), formerRoutes, routeProxies };
  cluster = paperCluster({ onRead: () => undefined, onPass: () => undefined }, given);
  cluster.put(kinds.deployment, deployment());
  await cluster.turns(4);
});

/** An API server that refuses to delete. */
const refusing = (deps: OperatorDeps): OperatorDeps => {
  const kube = { ...deps.kube, delete: () => Promise.reject(new Unavailable('not now')) } as Kube;
  return { ...deps, kube, writer: new Writer(kube, listWrittenKinds(cluster.caches)) };
};

async function reconciled(
  through: (deps: OperatorDeps) => OperatorDeps = (deps) => deps,
): Promise<ReconcileOutcome | undefined> {
  let outcome: ReconcileOutcome | undefined;
  await cluster.pass(
    'deployment',
    cluster.caches.deployments,
    KEY,
    (deps) => async (object, context) => {
      const report = await reconcileDeployment(through(deps))(object, context);
      ({ outcome } = report);
      return report;
    },
  );
  return outcome;
}
const hasRoute = (): boolean => cluster.caches.httpRoutes.get('team/chat-route') !== undefined;

test('it serves on, and the removal is tried again after two minutes, until the route is gone', async () => {
  // Revisions are looked at after days, however their deployment is.
  expect([hasRoute(), (await reconciled())!.after! > 86_400]).toEqual([true, true]);
  cluster.ask(KEY, () => ({ route: { enabled: false } }));
  const refused = await reconciled(refusing);
  expect([refused?.kind, refused?.after, hasRoute()]).toEqual(['settled', 120, true]);
  const later = await reconciled();
  expect([later?.kind, later!.after! > 86_400, hasRoute()]).toEqual(['settled', true, false]);
});
