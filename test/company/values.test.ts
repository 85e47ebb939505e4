import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds } from '../../src/kube/kinds.ts';
import type { KubeObject } from '../../src/kube/kube.ts';
import { newDeployment } from '../kit/objects.ts';
import { setStage, type OperatedStage } from '../kit/stage.ts';
import { until } from '../kit/until.ts';

/* Values in Secrets of a user's own, which nobody but the operator looks at, on a real API server. */
let stage: OperatedStage;
beforeAll(async () => {
  stage = await setStage('company-values');
});
afterAll(() => stage.stop());

const secret = (name: string, stringData: Record<string, string>): Promise<KubeObject> =>
  stage.kube.create(kinds.secret, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace: stage.namespace },
    stringData,
  });
const deploy = (name: string, more: object): Promise<object> =>
  stage.kube.create(
    kinds.deployment,
    newDeployment(stage.namespace, { metadata: { name }, ...more }),
  );

/** Bytes of the largest variable of Linux without its name, the sign between and the NUL behind. */
const roomFor = (name: string): number => 131_072 - name.length - 2;

test.each([
  ['one byte more than a process can start with', roomFor('BUNDLE') + 1],
  ['exactly 131,072 bytes', 131_072],
])(
  'a Secret with a value of %s is refused by its name, and starts nothing',
  async (_size, bytes) => {
    const name = `large-${bytes}`;
    await secret(name, { SMALL: 'a', BUNDLE: 'x'.repeat(bytes) });
    await deploy(name, { template: { secretName: name } });
    const revision = await until('it is refused', async () => {
      const found = await stage.see.revision(`${name}-00001`);
      return found.status?.phase === 'CREATE_FAILED' && found;
    });
    expect(revision.status).toMatchObject({
      reason: 'Refused',
      message: `BUNDLE of the Secret ${name} is larger than 131072 bytes, with which no process starts: mount it as a file.`,
    });
    expect(
      await stage.kube.listAll(kinds.pod, {
        namespace: stage.namespace,
        labelSelector: `gx.dev/revision=${name}-00001`,
      }),
    ).toEqual([]);
  },
);

test('the largest value with which a process starts is served', async () => {
  await secret('fits', { BUNDLE: 'x'.repeat(roomFor('BUNDLE')) });
  await deploy('fits', { template: { secretName: 'fits' } });
  await stage.see.untilReady('fits', 60);
  expect((await stage.see.revision('fits-00001')).status?.phase).toBe('DEPLOYED');
});

test.each([
  ['a list of hosts', 'postgresql://u:p@h1,h2/x'],
  ['a list of hosts with ports', 'postgresql://u:p@h1:5432,h2:5433/x'],
  ['hosts in the query', 'postgresql:///x?host=h1,h2'],
  ['hosts in an escaped query', 'postgresql://u:p@h1/x?host=h1%2Ch2'],
])('an external database with %s is refused with what to give instead', async (_form, uri) => {
  const name = `hosts-${Buffer.from(uri).toString('hex').slice(-12)}`;
  await secret(name, { uri: `${uri}\n` });
  await deploy(name, { spec: { database: { external: { secretName: name } } } });
  const told = await until('it is refused', async () => {
    const { status } = await stage.see.deployment(name);
    return status?.conditions?.find(
      (one) =>
        one.type === 'DatabaseReady' && one.status === 'False' && one.message.includes('hosts'),
    );
  });
  expect(told.message).toBe(
    `Key uri of the Secret ${name} names several hosts: give one that always leads to the server that takes writes, such as a Service, a balancer or a pooler.`,
  );
});

test.each([
  ['a newline behind it', '\n'],
  ['line ends of Windows behind it', '\r\n'],
])('the address of an external database with %s is taken', async (_form, end) => {
  const name = `ends-${Buffer.from(end).toString('hex')}`;
  await secret(name, { uri: `postgresql://u:p@db.example/x${end}` });
  await deploy(name, { spec: { database: { external: { secretName: name } } } });
  await stage.see.untilReady(name, 60);
  expect((await stage.see.revision(`${name}-00001`)).status?.phase).toBe('DEPLOYED');
});
