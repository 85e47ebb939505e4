import { expect, test } from 'vitest';
import type { Kind, Kube, KubeObject } from '../../../src/kube/kube.ts';
import { kinds } from '../../../src/kube/kinds.ts';
import { listRemovableChildren } from '../../../src/operator/deployment/finalize.ts';
import { diffObjects, addIntentHash } from '../../../src/operator/kernel/owned.ts';
import { Writer } from '../../../src/operator/kernel/writer.ts';
import { OPERATOR_KINDS } from '../../../src/operator/kinds/table.ts';

/* Two kinds are named Deployment: that of the platform, and Kubernetes' own. Here both have one name, too. */

const named = ({ apiVersion, kind }: Kind, spec: object): KubeObject => ({
  apiVersion,
  kind,
  metadata: { name: 'chat', namespace: 'team', resourceVersion: '1' },
  spec,
});
const workload = named(kinds.workload, { replicas: 1 });
const deployment = named(kinds.deployment, { source: 'git' });
const { signal } = new AbortController();

/** Returns a writer, and what it wrote. */
function recordingWriter() {
  const written: string[] = [];
  const kube = {
    apply: async ({ apiVersion }: Kind, object: KubeObject) => {
      written.push(`apply ${apiVersion}`);
      return {
        ...object,
        spec: { stored: 'differently' },
        metadata: { ...object.metadata, resourceVersion: '2' },
      };
    },
    delete: async ({ apiVersion }: Kind) => written.push(`delete ${apiVersion}`),
  } as unknown as Kube;
  return {
    written,
    writer: new Writer(kube, [{ kind: kinds.deployment }, { kind: kinds.workload }]),
  };
}

test('one that exists does not stand for the other that is desired', async () => {
  const live = addIntentHash(deployment);
  expect(diffObjects([workload], [live])).toEqual({ apply: [workload], remove: [live] });
  const { written, writer } = recordingWriter();
  await writer.reconcile([deployment, workload], [addIntentHash(workload), live], signal);
  expect(written).toEqual([]);
  await writer.reconcile([workload], [live], signal);
  expect(written).toEqual(['apply apps/v1', `delete ${kinds.deployment.apiVersion}`]);
});

test('what the API server made of one is remembered beside what it made of the other', async () => {
  const { written, writer } = recordingWriter();
  const stored = await writer.reconcile([workload, deployment], [], signal);
  expect(written).toEqual([
    `apply ${kinds.workload.apiVersion}`,
    `apply ${kinds.deployment.apiVersion}`,
  ]);
  await writer.reconcile([workload, deployment], stored, signal);
  expect(written).toHaveLength(2);
});

test('only the workload counts as an agent that goes before the rest', () => {
  expect(listRemovableChildren([workload, named(kinds.service, {})], OPERATOR_KINDS)).toEqual([
    workload,
  ]);
  expect(
    listRemovableChildren([deployment, named(kinds.service, {})], OPERATOR_KINDS),
  ).toHaveLength(2);
});

test('the status of a workload is read by its owner, and that of a deployment is not', () => {
  const rows = Object.values(OPERATOR_KINDS).filter(({ kind }) => kind.kind === 'Deployment');
  expect(rows.map((row) => [row.kind.apiVersion, 'statusRead' in row])).toEqual([
    [kinds.workload.apiVersion, true],
    [kinds.deployment.apiVersion, false],
  ]);
});
