import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../../../src/kube/kube.ts';
import { removable } from '../../../src/operator/deployment/finalize.ts';
import { COMPONENT } from '../../../src/schema/labels.ts';

const object = (kind: string, name: string, component?: string, deletionTimestamp?: string): KubeObject => ({
  apiVersion: 'v1',
  kind,
  metadata: {
    name,
    ...(component !== undefined && { labels: { [COMPONENT]: component } }),
    ...(deletionTimestamp !== undefined && { deletionTimestamp }),
    ownerReferences: [{ apiVersion: 'apps/v1', kind: 'Set', name: 'owner', uid: 'u' }],
  },
});

const database = [object('StatefulSet', 'a-db'), object('Service', 'a-db'), object('Pod', 'a-db-0', 'database'), object('Secret', 'a-env')];
const namesOf = (children: KubeObject[]): string[] => removable(children).map(({ kind, metadata }) => `${kind}/${metadata.name}`);

describe('what goes next when a deployment is deleted', () => {
  test('revisions and workloads, while the database stays', () => {
    expect(namesOf([...database, object('Revision', 'a-00001'), object('Deployment', 'a-00001-api')])).toEqual([
      'Revision/a-00001',
      'Deployment/a-00001-api',
    ]);
  });

  test('nothing, while an agent pod still writes its last', () => {
    expect(namesOf([...database, object('Pod', 'a-00001-queue-x', 'queue', '2026-01-01T00:00:00Z')])).toEqual([]);
  });

  test('the rest, once the agents are gone', () => {
    expect(namesOf(database)).toEqual(['StatefulSet/a-db', 'Service/a-db', 'Secret/a-env']);
  });

  test('the set stays until it has taken a pod that lost its earlier one', () => {
    const { ownerReferences: _, ...alone } = object('Pod', 'a-db-0', 'database').metadata;
    expect(namesOf([object('StatefulSet', 'a-db'), { apiVersion: 'v1', kind: 'Pod', metadata: alone }])).toEqual([]);
  });

  test('nothing twice', () => {
    expect(namesOf([object('StatefulSet', 'a-db', undefined, '2026-01-01T00:00:00Z')])).toEqual([]);
  });
});
