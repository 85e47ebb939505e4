import { describe, expect, test } from 'vitest';
import { kinds } from '../../../src/kube/kinds.ts';
import type { KubeObject } from '../../../src/kube/kube.ts';
import { listRemovableChildren } from '../../../src/operator/deployment/finalize.ts';
import { OPERATOR_KINDS } from '../../../src/operator/kinds/table.ts';
import { COMPONENT } from '../../../src/schema/platform/objects/labels.ts';

type Name = 'pod' | 'revision' | 'secret' | 'service' | 'statefulSet' | 'workload';
const object = (
  kind: Name,
  name: string,
  component?: string,
  deletionTimestamp?: string,
): KubeObject => ({
  apiVersion: kinds[kind].apiVersion,
  kind: kinds[kind].kind,
  metadata: {
    name,
    ...(component !== undefined && { labels: { [COMPONENT]: component } }),
    ...(deletionTimestamp !== undefined && { deletionTimestamp }),
    ownerReferences: [{ apiVersion: 'apps/v1', kind: 'Set', name: 'owner', uid: 'u' }],
  },
});

const database = [
  object('statefulSet', 'a-db'),
  object('service', 'a-db'),
  object('pod', 'a-db-0', 'database'),
  object('secret', 'a-env'),
];
const namesOf = (children: KubeObject[]): string[] =>
  listRemovableChildren(children, OPERATOR_KINDS).map(
    ({ kind, metadata }) => `${kind}/${metadata.name}`,
  );

describe('what goes next when a deployment is deleted', () => {
  test('revisions and workloads, while the database stays', () => {
    expect(
      namesOf([...database, object('revision', 'a-00001'), object('workload', 'a-00001-api')]),
    ).toEqual(['Revision/a-00001', 'Deployment/a-00001-api']);
  });

  test('nothing, while an agent pod still writes its last', () => {
    expect(
      namesOf([...database, object('pod', 'a-00001-queue-x', 'queue', '2026-01-01T00:00:00Z')]),
    ).toEqual([]);
  });

  test('the rest, once the agents are gone', () => {
    expect(namesOf(database)).toEqual(['StatefulSet/a-db', 'Service/a-db', 'Secret/a-env']);
  });

  test('the set stays until it has taken a pod that lost its earlier one', () => {
    const { ownerReferences: _, ...alone } = object('pod', 'a-db-0', 'database').metadata;
    expect(
      namesOf([object('statefulSet', 'a-db'), { apiVersion: 'v1', kind: 'Pod', metadata: alone }]),
    ).toEqual([]);
  });

  test('nothing twice', () => {
    expect(namesOf([object('statefulSet', 'a-db', undefined, '2026-01-01T00:00:00Z')])).toEqual([]);
  });
});
