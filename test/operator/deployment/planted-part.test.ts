import { beforeEach, expect, test } from 'vitest';
import { kinds } from '../../../src/kube/kinds.ts';
import type { KubeObject } from '../../../src/kube/kube.ts';
import type { Part } from '../../../src/operator/deployment/part.ts';
import { DEPLOYMENT_PARTS } from '../../../src/operator/deployment/parts.ts';
import { reconcileDeployment } from '../../../src/operator/deployment/reconcile.ts';
import { buildAppliedMetadata } from '../../../src/operator/objects/metadata.ts';
import { buildWaitingOutcome } from '../../../src/operator/kernel/outcome.ts';
import { deployment, revision } from '../../kit/objects.ts';
import { paperCluster } from '../../kit/paper-cluster.ts';

/* A further part of a deployment is a value in the list of parts. Reconcile and status know of it by that alone. */

const KEY = 'team/chat';
let cluster: ReturnType<typeof paperCluster>;
let done: string[];
let isAccepted: boolean;

const isThere = (): boolean => cluster.caches.services.get('team/chat-route') !== undefined;
const route: Part = {
  desired: ({ deployment: of, target }): KubeObject[] =>
    target === undefined
      ? []
      : [
          {
            apiVersion: 'v1',
            kind: 'Service',
            metadata: buildAppliedMetadata(of, 'agent', 'chat-route'),
            spec: { target },
          },
        ],
  async prepare() {
    done.push(`prepared, made: ${isThere()}`);
    return { status: { storeSecret: 'of the route' } };
  },
  async whileHeld() {
    done.push('held');
    return { status: { storeSecret: 'of the route, as it was' } };
  },
  async step() {
    done.push(`stepped, made: ${isThere()}`);
    return {};
  },
  report: ({ written }) => ({
    statements: [
      {
        type: 'RouteAccepted',
        status: isAccepted ? 'True' : 'False',
        reason: 'Seen',
        message: `${written.length > 0}`,
      },
    ],
    ...(!isAccepted && {
      unready: buildWaitingOutcome('RouteNotAccepted', 'Nobody routes it yet.'),
    }),
  }),
};

const pass = (): Promise<void> =>
  cluster.pass('deployment', cluster.caches.deployments, KEY, (deps) =>
    reconcileDeployment(deps, [...DEPLOYMENT_PARTS, route]),
  );
const status = () => cluster.caches.deployments.get(KEY)?.status;
const condition = (type: string) => status()?.conditions?.find((one) => one.type === type);

beforeEach(async () => {
  cluster = paperCluster({ onRead: () => undefined, onPass: () => undefined });
  cluster.put(kinds.deployment, deployment());
  await cluster.turns(4);
  [done, isAccepted] = [[], true];
});

test('it is prepared before its objects are made, takes a step after it, and is reported', async () => {
  await pass();
  expect(done).toEqual(['prepared, made: false', 'stepped, made: true']);
  expect(status()).toMatchObject({ phase: 'READY', storeSecret: 'of the route' });
  expect([condition('Ready')?.status, condition('RouteAccepted')?.status]).toEqual([
    'True',
    'True',
  ]);
});

test('the deployment waits for it while it is not ready', async () => {
  isAccepted = false;
  await pass();
  expect(condition('Ready')).toMatchObject({ status: 'False', reason: 'RouteNotAccepted' });
});

test('what is in the way of the deployment holds it back, and it still reports', async () => {
  cluster.put(
    kinds.revision,
    revision(deployment({ metadata: { generation: 9, uid: 'earlier' } })),
  );
  await pass();
  expect([done, isThere()]).toEqual([['held'], false]);
  expect(status()?.storeSecret).toBe('of the route, as it was');
  expect(condition('Ready')?.reason).toBe('EarlierDeployment');
  expect(condition('RouteAccepted')?.message).toBe('false');
});
