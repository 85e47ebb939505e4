import { expect, test } from 'vitest';
import { checkReferences } from '../../../src/control-plane/pod-policy/references.ts';
import type { Grant } from '../../../src/config/control-plane.ts';
import type { Kube, KubeObject } from '../../../src/kube/kube.ts';
import { FOR_AGENTS } from '../../../src/schema/platform/labels.ts';

/** A cluster whose ServiceAccounts have these labels. */
const clusterOf = (labels: Record<string, string>): Kube => {
  const find = async (): Promise<KubeObject> => ({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'cloud', labels } });
  return { find } as unknown as Kube;
};
const ask = (labels: Record<string, string>, grants: Grant[] = []): Promise<void> =>
  checkReferences(clusterOf(labels), {
    spec: { service_account_name: 'cloud' },
    namespace: 'team',
    grants,
    signal: new AbortController().signal,
  });

test('a ServiceAccount is for agents only if its owner says so, or the installation grants all of them', async () => {
  await expect(ask({})).rejects.toThrow('ServiceAccount cloud is not for agents: its owner allows it by the label gx.dev/for-agents=true');
  await expect(ask({ [FOR_AGENTS]: 'false' })).rejects.toThrow('is not for agents');
  await expect(ask({ [FOR_AGENTS]: 'true' })).resolves.toBeUndefined();
  await expect(ask({}, ['accounts'])).resolves.toBeUndefined();
});
