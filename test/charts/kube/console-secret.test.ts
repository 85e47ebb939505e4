import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ensureTools } from '../../../dev/cluster/parts.ts';
import { kinds } from '../../../src/kube/kinds.ts';
import { openStage, type Stage } from '../../kit/stage.ts';

/* The secret of sessions on a real API server: nobody is signed out by an upgrade. */
const run = promisify(execFile);

let helm: string;
let stage: Stage;
beforeAll(async () => {
  helm = (await ensureTools(['helm'])).helm ?? '';
  stage = await openStage('console-secret');
}, 1_200_000);
afterAll(() => stage.stop());

const helmed = (...args: string[]) => {
  const values = [
    '--set=images.registry=registry.example.com/me',
    '--set=crds.install=false',
    '--set=agents.listener.create=false',
    `--set=agents.namespaces={${stage.namespace}-a}`,
  ];
  return run(helm, [
    ...args,
    ...values,
    '--namespace',
    stage.namespace,
    '--kubeconfig',
    stage.kubeconfig,
  ]);
};
const key = async (name = 'key'): Promise<string> => {
  const { data } = await stage.kube.get(kinds.secret, {
    namespace: stage.namespace,
    name: 'gx-console',
  });
  return Buffer.from(data?.[name] ?? '', 'base64').toString();
};

test('Helm makes one, keeps it at an upgrade, and makes none where there is another', async () => {
  await helmed('install', 'gx', 'charts/gx-platform');
  const [made, client] = [await key(), await key('client-key')];
  for (const one of [made, client]) expect(one).toMatch(/^[A-Za-z0-9]{64}$/);
  expect(client).not.toBe(made);
  await helmed('upgrade', 'gx', 'charts/gx-platform', '--set=console.replicas=2');
  expect([await key(), await key('client-key')]).toEqual([made, client]);
  await helmed('upgrade', 'gx', 'charts/gx-platform', '--set=console.sessionSecretName=ours');
  await expect(key()).rejects.toThrow(/not found/i);
  await run(helm, [
    'uninstall',
    'gx',
    '--namespace',
    stage.namespace,
    '--kubeconfig',
    stage.kubeconfig,
  ]);
});
