import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { StartError } from '../../../src/errors.ts';
import { loadCredentials } from '../../../src/kube/credentials.ts';

const folder = mkdtempSync(join(tmpdir(), 'gx-kubeconfig-'));
afterAll(() => rmSync(folder, { recursive: true }));

const kubeconfig = (cluster: object, user: object): string => {
  const path = join(folder, `${Math.random()}.json`);
  const context = { cluster: 'c', user: 'u', namespace: 'team' };
  const config = {
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'x', context }],
    'current-context': 'x',
  };
  writeFileSync(path, JSON.stringify(config));
  return path;
};

test('a kubeconfig gives server, namespace and token', async () => {
  const credentials = await loadCredentials(
    kubeconfig({ server: 'https://kube.example:6443' }, { token: 'secret' }),
  );
  expect([credentials.server.host, credentials.namespace]).toEqual(['kube.example:6443', 'team']);
  expect((await credentials.access()).headers).toEqual({ authorization: 'Bearer secret' });
});

test('a certificate that was exchanged is read again when asked', async () => {
  const ca = join(folder, 'ca.crt');
  writeFileSync(ca, 'one');
  const credentials = await loadCredentials(
    kubeconfig({ server: 'https://kube.example', 'certificate-authority': ca }, {}),
  );
  expect(String((await credentials.access()).tls.ca)).toBe('one');
  writeFileSync(ca, 'two');
  expect(String((await credentials.access()).tls.ca)).toBe('one');
  credentials.renew();
  expect(String((await credentials.access()).tls.ca)).toBe('two');
});

test.each([
  ['that is not there', () => join(folder, 'nowhere')],
  [
    'with a proxy, which is not supported',
    () => kubeconfig({ server: 'https://kube.example', 'proxy-url': 'http://p' }, {}),
  ],
])('a kubeconfig %s is told in a sentence', async (_, path) => {
  await expect(loadCredentials(path())).rejects.toBeInstanceOf(StartError);
});
