import { expect, test } from 'vitest';
import { buildListenerReport } from '../../../src/operator/listener/status.ts';
import { type ListenerResource } from '../../../src/schema/platform/resources/custom-resources.ts';
import { API_VERSION } from '../../../src/schema/platform/objects/api-group.ts';

const listener = (name: string, day: number, ...namespaces: string[]): ListenerResource => ({
  apiVersion: API_VERSION,
  kind: 'Listener',
  metadata: { name, uid: `uid-${name}`, creationTimestamp: `2026-01-0${day}T00:00:00Z` },
  spec: { computeId: 'c', namespaces },
});

const joined = (namespace: string): string => (namespace === 'theirs' ? 'another' : 'mine');
const report = (one: ListenerResource, all: ListenerResource[]) =>
  buildListenerReport(one, { all, joined, defaultTenantId: 'mine' });

test('a Listener that has all it names is settled', () => {
  const own = listener('own', 1, 'a', 'b');
  expect(report(own, [own, listener('other', 2, 'c')]).outcome.kind).toBe('settled');
});

test('one that names what an older one has is stalled, and says what and whose; the older one is not troubled', () => {
  const [first, second] = [listener('first', 1, 'a', 'b'), listener('second', 2, 'c', 'b')];
  for (const all of [
    [first, second],
    [second, first],
  ]) {
    expect(report(second, all).outcome).toEqual({
      kind: 'stalled',
      reason: 'NamespaceTaken',
      message: 'b belongs to the listener first.',
    });
    expect(report(first, all).outcome.kind).toBe('settled');
  }
});

test('one that names a namespace that has not joined its tenant is stalled, and says who can change that', () => {
  const own = listener('own', 1, 'a', 'theirs');
  expect(report(own, [own]).outcome).toEqual({
    kind: 'stalled',
    reason: 'NamespaceNotJoined',
    message:
      'Not of this tenant: theirs. The owner of a namespace sets the label gx.dev/tenant=mine on it.',
  });
});
