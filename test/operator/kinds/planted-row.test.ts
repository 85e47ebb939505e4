import { expect, test } from 'vitest';
import type { Kind, KubeObject } from '../../../src/kube/kube.ts';
import { buildAccessRules, operatorAccess } from '../../../src/operator/access.ts';
import { listRemovableChildren } from '../../../src/operator/deployment/finalize.ts';
import { observeDeployment } from '../../../src/operator/deployment/observe.ts';
import { createCaches, listWrittenKinds, type Caches } from '../../../src/operator/view/caches.ts';
import { buildOwnedMetadata } from '../../../src/operator/objects/metadata.ts';
import { WorkQueue } from '../../../src/operator/kernel/queue.ts';
import type { KindTable } from '../../../src/operator/kinds/row.ts';
import { OPERATOR_KINDS } from '../../../src/operator/kinds/table.ts';
import { registerWakeUps } from '../../../src/operator/wake.ts';
import { createWatches } from '../../../src/operator/watches.ts';
import type { Cache } from '../../../src/kube/cache.ts';
import type { Kube } from '../../../src/kube/kube.ts';
import { silentLog } from '../../kit/log.ts';
import { buildStandIn } from '../../kit/stand-in.ts';
import type { MissingKinds } from '../../../src/operator/view/missing-kinds.ts';
import { config, deployment } from '../../kit/objects.ts';

/* A further kind of object takes one row: everything that the operator must know of it follows from the table. */

const route: Kind = {
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'GRPCRoute',
  plural: 'grpcroutes',
  namespaced: true,
};
type Accepted = { accepted?: boolean };
const table: KindTable = {
  ...OPERATOR_KINDS,
  routes: {
    ...OPERATOR_KINDS.services,
    kind: route,
    optional: true,
    statusRead: ({ status }) => ({ accepted: (status as Accepted | undefined)?.accepted }),
  },
};

const owner = deployment();
let version = 0;
const made = (status: Accepted & { counted?: number }): KubeObject => {
  version += 1;
  const metadata = {
    ...buildOwnedMetadata(owner, 'agent', 'chat'),
    generation: 1,
    resourceVersion: String(version),
  };
  return { apiVersion: route.apiVersion, kind: route.kind, metadata, spec: {}, status };
};
const routesIn = (caches: Caches): Cache => (caches as unknown as { routes: Cache }).routes;

test('its objects are cached, found as children of their deployment, and written through their cache', () => {
  const caches = createCaches({ table });
  const object = made({});
  routesIn(caches).addIfNewer(object);
  expect(observeDeployment({ caches, table }, owner).children).toEqual([object]);
  expect(listWrittenKinds(caches, table)).toContainEqual({ kind: route, cache: routesIn(caches) });
  expect(listWrittenKinds(createCaches()).map(({ kind }) => kind)).not.toContain(route);
});

test('they are watched where the operator works, by its label, and may be missing', async () => {
  const asked: string[] = [];
  const kube = {
    list: async (
      kind: Kind,
      { namespace, labelSelector }: { namespace?: string; labelSelector?: string },
    ) => {
      asked.push(`${kind.kind} ${namespace} ${labelSelector}`);
      return { items: [], resourceVersion: '1' };
    },
    watch: async function* () {},
  } as unknown as Kube;
  const observer = { relisted: () => undefined, missed: () => undefined };
  const missing = buildStandIn<MissingKinds>({ note: () => undefined });
  const parts = {
    kube,
    log: silentLog(),
    caches: createCaches({ table }),
    table,
    missing,
    observer,
  };
  const running = createWatches({
    ...parts,
    config: config({ namespace: 'gx', namespaces: ['team'] }),
  });
  for (const watch of running) watch.start();
  await Promise.all(running.map(({ synced }) => synced));
  await Promise.all(running.map((watch) => watch.stop()));
  expect(asked).toContain('GRPCRoute team app.kubernetes.io/managed-by=gx-operator');
});

test('their changes wake the deployment if a reconcile reads them', () => {
  const caches = createCaches({ table });
  const queues = {
    deployments: new WorkQueue(),
    revisions: new WorkQueue(),
    listeners: new WorkQueue(),
  };
  registerWakeUps(caches, queues, { table });
  const wakes = (object: KubeObject): number => {
    const before = queues.deployments.depth;
    routesIn(caches).addIfNewer(object);
    return queues.deployments.depth - before;
  };
  expect(wakes(made({}))).toBe(1);
  expect(queues.revisions.depth).toBe(0);
});

test('a change of their status that nobody reads wakes nobody', () => {
  const caches = createCaches({ table });
  routesIn(caches).addIfNewer(made({ counted: 1 }));
  const queues = {
    deployments: new WorkQueue(),
    revisions: new WorkQueue(),
    listeners: new WorkQueue(),
  };
  registerWakeUps(caches, queues, { table });
  routesIn(caches).addIfNewer(made({ counted: 2 }));
  expect(queues.deployments.depth).toBe(0);
  routesIn(caches).addIfNewer(made({ counted: 2, accepted: true }));
  expect(queues.deployments.depth).toBe(1);
});

test('they are removed after the agents', () => {
  const object = made({});
  const agents = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'chat-00001-api' },
  };
  expect(listRemovableChildren([object, agents], table)).toEqual([agents]);
  expect(listRemovableChildren([object], table)).toEqual([object]);
});

test('the right to make them is granted where agents run, and no other one', () => {
  const rule = { apiGroups: ['gateway.networking.k8s.io'], resources: ['grpcroutes'] };
  const planted = buildAccessRules(table);
  expect(planted.worked).toContainEqual({
    ...rule,
    verbs: ['create', 'delete', 'list', 'patch', 'watch'],
  });
  expect(planted.watched).toContainEqual({ ...rule, verbs: ['delete', 'list', 'watch'] });
  const isOther = ({ resources }: { resources: string[] }): boolean =>
    !resources.includes('grpcroutes');
  expect({
    ...planted,
    worked: planted.worked.filter(isOther),
    watched: planted.watched.filter(isOther),
  }).toEqual(operatorAccess);
});

test('each kind that reconciles write may be written, and each that is watched may be listed', () => {
  const verbsOf = (row: KindTable[string]): string[] => row.rights.flatMap(({ verbs }) => verbs);
  const rows = Object.values<KindTable[string]>(OPERATOR_KINDS);
  const isWritable = (verbs: string[]): boolean =>
    ['create', 'delete'].some((verb) => verbs.includes(verb));
  expect(rows.filter((row) => row.written === true && !isWritable(verbsOf(row)))).toEqual([]);
  expect(
    rows.filter(
      (row) =>
        row.scope !== undefined && !['list', 'watch'].every((verb) => verbsOf(row).includes(verb)),
    ),
  ).toEqual([]);
});
