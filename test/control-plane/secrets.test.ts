import { expect, inject, test } from 'vitest';
import { SecretValues } from '../../src/control-plane/secrets.ts';
import { kinds } from '../../src/kube/kinds.ts';
import type { Kube } from '../../src/kube/kube.ts';
import type { Deployment } from '../../src/schema/platform/deployment/deployment.ts';
import { auditEvents } from '../kit/audit-log.ts';
import { until } from '../kit/until.ts';
import { creation, startPlane, TENANT_A } from './kit/api-server-plane.ts';

const secrets = [{ name: 'TOKEN', value: 'hidden-value' }];
const caller = { tenantId: TENANT_A, role: 'write', keyName: 'writer' } as const;
const write = { role: 'write', signal: new AbortController().signal } as const;

test('what was stored or read once is answered without the API server, and never logged', async () => {
  const plane = await startPlane('secretvalues');
  const { body: made } = await plane.call<Deployment>('POST', '/v2/deployments', {
    body: creation('one', { secrets }),
  });
  expect((await plane.call<Deployment>('GET', `/v2/deployments/${made.id}`)).body.secrets).toEqual(
    secrets,
  );
  const { body } = await plane.call<{ resources: Deployment[] }>('GET', '/v2/deployments', {
    key: plane.keys.read,
  });
  expect(body.resources[0]?.secrets).toEqual([{ name: 'TOKEN', value: '' }]);
  const reads = (): number =>
    auditEvents(inject('auditLog'), 'gx-control-plane/secretvalues').filter(
      ({ verb, objectRef }) =>
        verb === 'get' && objectRef?.resource === 'secrets' && objectRef.name?.startsWith('one'),
    ).length;
  expect(reads()).toBe(0);
  const restarted = await plane.replica();
  await until('a new process has read it before anybody asks', () => reads() === 1);
  expect(
    (await restarted.call<Deployment>('GET', `/v2/deployments/${made.id}`)).body.secrets,
  ).toEqual(secrets);
  expect(reads()).toBe(1);
  await restarted.stop();
  expect(plane.logged()).not.toContain('hidden-value');
  await plane.stop();
});

test("a Secret that somebody else made is read each time, for its owner may change it; the platform's own only within the bound", async () => {
  const plane = await startPlane('secretbound');
  const { kube, namespace } = plane;
  let reads = 0;
  const counting: Kube = Object.assign(Object.create(kube) as Kube, {
    create: kube.create.bind(kube),
    find: (...given: Parameters<Kube['find']>) => ((reads += 1), kube.find(...given)),
  });
  const values = new SecretValues(counting, 1500);
  const tenantId = '00000000-0000-4000-8000-000000000000';
  const stored = (nonce: string) =>
    values.store({ deployment: 'bound', namespace, tenantId }, { caller, nonce, secrets });
  const using = (secretName: string) =>
    values.read(
      { metadata: { name: 'bound', namespace }, spec: { template: { secretName } } } as never,
      write,
    );
  const meta = { name: 'foreign', namespace };
  await kube.create(kinds.secret, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: meta,
    stringData: { TOKEN: 'first' },
  });
  expect(await using('foreign')).toEqual([{ name: 'TOKEN', value: 'first' }]);
  await using('foreign');
  expect(reads).toBe(2);
  const [oldest, second] = [await stored('a'), await stored('b')];
  await using(oldest);
  expect(reads).toBe(2);
  // The oldest was used last and stays. The second makes room.
  await stored('c');
  await stored('d');
  expect(await using(second)).toEqual(secrets);
  expect(reads).toBe(3);
  await plane.stop();
});
