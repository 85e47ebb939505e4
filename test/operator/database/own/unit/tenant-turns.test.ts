import { expect, test } from 'vitest';
import type { KubeObject } from '../../../../../src/kube/kube.ts';
import { addRequestHash } from '../../../../../src/operator/database/own/settled.ts';
import { observeFacts } from '../../../../../src/operator/deployment/facts.ts';
import { OPERATOR_KINDS } from '../../../../../src/operator/kinds/table.ts';
import { buildOwnedMetadata } from '../../../../../src/operator/objects/metadata.ts';
import { createCaches } from '../../../../../src/operator/view/caches.ts';
import type { OperatorDeps } from '../../../../../src/operator/view/deps.ts';
import { TakenTurns } from '../../../../../src/operator/view/taken-turns.ts';
import { API_VERSION } from '../../../../../src/schema/platform/objects/api-group.ts';
import { RENEW_DATABASE, TENANT } from '../../../../../src/schema/platform/objects/labels.ts';
import { names } from '../../../../../src/schema/names.ts';
import { buildStandIn } from '../../../../kit/stand-in.ts';
import { deployment, settings } from '../../../../kit/objects.ts';

/* Databases of two tenants, one of which has two namespaces, and of a namespace that belongs to nobody. */

const OURS = '88888888-8888-4888-8888-888888888888';
const THEIRS = '99999999-9999-4999-8999-999999999999';
const NOW = new Date('2026-01-01T03:00:00Z');
const LISTENERS = [
  ['ours', OURS, ['team', 'team-too']],
  ['theirs', THEIRS, ['others']],
] as const;

function observed() {
  const caches = createCaches();
  let version = 0;
  const next = (): string => String((version += 1));
  for (const [name, tenantId, namespaces] of LISTENERS) {
    caches.listeners.addIfNewer({
      apiVersion: API_VERSION,
      kind: 'Listener',
      metadata: { name, namespace: 'gx-system', resourceVersion: next() },
      spec: { computeId: name, tenantId, namespaces: [...namespaces] },
    });
    for (const namespace of namespaces)
      caches.namespaces.addIfNewer({
        apiVersion: 'v1',
        kind: 'Namespace',
        metadata: { name: namespace, labels: { [TENANT]: tenantId }, resourceVersion: next() },
      });
  }
  const add = (namespace: string, name: string, isUp: boolean) => {
    const given = { name, namespace, uid: `${namespace}/${name}`, resourceVersion: next() };
    const renewed = { annotations: { [RENEW_DATABASE]: 'today' } };
    const of = deployment({ metadata: { ...given, ...renewed } });
    const bare: KubeObject = {
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: {
        ...buildOwnedMetadata(of, 'database', names.database(name)),
        generation: 1,
        resourceVersion: next(),
      },
      spec: { replicas: 1 },
    };
    const ready = isUp ? 1 : 0;
    const counts = { replicas: 1, updatedReplicas: 1, observedGeneration: 1 };
    // One that is up has yet to restart, and the other one did and never came up.
    caches.statefulSets.addIfNewer({
      ...addRequestHash(isUp ? deployment({ metadata: given }) : of, bare),
      status: { ...counts, readyReplicas: ready, availableReplicas: ready },
    });
    caches.deployments.addIfNewer(of);
    return of;
  };
  const deps: Partial<OperatorDeps> = {
    caches,
    table: OPERATOR_KINDS,
    missing: buildStandIn({ has: () => false }),
    routeParents: buildStandIn({ features: undefined }),
    settings: settings({}),
    ports: buildStandIn({ keep: async () => ({}) }),
    work: {
      getSummary: () => undefined,
      queue: () => undefined,
      drain: () => undefined,
      getVerdict: () => undefined,
      getGateReport: () => undefined,
      getServer: () => undefined,
    },
    branches: { look: () => undefined },
    restartTurns: new TakenTurns(),
  };
  const heldOf = async (of: ReturnType<typeof add>): Promise<string | undefined> => {
    const given = { signal: new AbortController().signal, now: NOW };
    return (await observeFacts(deps as OperatorDeps, of, given)).renewalHeld?.message;
  };
  return { add, heldOf };
}

test.each(['others', 'nobodys'])(
  'databases in %s that never come up, or go before, hold up no restart of another tenant',
  async (namespace) => {
    const { add, heldOf } = observed();
    for (const name of ['broken', 'down']) add(namespace, name, false);
    for (const name of ['a', 'b']) add(namespace, name, true);
    const own = add('team', 'own', true);
    expect(await heldOf(own)).toBeUndefined();
  },
);

test('one of the same tenant does, in whichever of its namespaces', async () => {
  const { add, heldOf } = observed();
  add('team-too', 'broken', false);
  const [first, second] = [add('team-too', 'a', true), add('team', 'b', true)];
  expect(await heldOf(first)).toContain('1 restart now, and 0 are before it');
  expect(await heldOf(second)).toContain('1 restart now, and 1 are before it');
});

test('a namespace that belongs to nobody has turns of its own', async () => {
  const { add, heldOf } = observed();
  add('nobodys', 'broken', false);
  expect(await heldOf(add('nobodys', 'own', true))).toContain('1 restart now');
  expect(await heldOf(add('unclaimed', 'own', true))).toBeUndefined();
});
