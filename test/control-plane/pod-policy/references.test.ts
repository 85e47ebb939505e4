import { expect, test } from 'vitest';
import { checkReferences } from '../../../src/control-plane/pod-policy/references.ts';
import type { Grant } from '../../../src/config/platform/control-plane.ts';
import type { Kube, KubeObject } from '../../../src/kube/kube.ts';
import { FOR_AGENTS } from '../../../src/schema/platform/objects/labels.ts';

/** A cluster whose ServiceAccounts have these labels. */
const clusterOf = (labels: Record<string, string>): Kube => {
  const find = async (): Promise<KubeObject> => ({
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name: 'cloud', labels },
  });
  return { find } as unknown as Kube;
};
const ask = (labels: Record<string, string>, grants: Grant[] = []): Promise<void> =>
  checkReferences(clusterOf(labels), {
    spec: { service_account_name: 'cloud' },
    namespace: 'team',
    rules: { grants, reserved: { secrets: [], claims: [] } },
    signal: new AbortController().signal,
  });

test('a ServiceAccount is for agents only if its owner says so, or the installation grants all of them', async () => {
  await expect(ask({})).rejects.toThrow(
    'ServiceAccount cloud is not for agents: its owner allows it by the label gx.dev/for-agents=true',
  );
  await expect(ask({ [FOR_AGENTS]: 'false' })).rejects.toThrow('is not for agents');
  await expect(ask({ [FOR_AGENTS]: 'true' })).resolves.toBeUndefined();
  await expect(ask({}, ['accounts'])).resolves.toBeUndefined();
});

test('the Secrets and claims of backup targets are for nobody, by any way in which a pod names one, also before they are there', async () => {
  const empty = { find: () => Promise.resolve(undefined) } as unknown as Kube;
  const reserved = { secrets: ['gx-backups'], claims: ['disk'] };
  const refused = (spec: object): Promise<unknown> =>
    checkReferences(empty, {
      spec,
      namespace: 'team',
      rules: { grants: ['secrets', 'claims'], reserved },
      signal: new AbortController().signal,
    });
  const container = (more: object) => ({ sidecars: [{ name: 'x', image: 'x', ...more }] });
  const named = [
    { volumes: [{ name: 'v', secret: { secretName: 'gx-backups' } }] },
    { volumes: [{ name: 'v', projected: { sources: [{ secret: { name: 'gx-backups' } }] } }] },
    {
      volumes: [{ name: 'v', csi: { driver: 'd', nodePublishSecretRef: { name: 'gx-backups' } } }],
    },
    { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'disk' } }] },
    { image_pull_secrets: [{ name: 'gx-backups' }] },
    container({ envFrom: [{ secretRef: { name: 'gx-backups' } }] }),
    container({
      env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'gx-backups', key: 'accessKeyId' } } }],
    }),
  ];
  for (const spec of named)
    await expect(refused(spec)).rejects.toThrow(
      /(Secret gx-backups|PersistentVolumeClaim disk) belongs to the platform/,
    );
});
