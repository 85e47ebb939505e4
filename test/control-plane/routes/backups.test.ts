import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds } from '../../../src/kube/kinds.ts';
import { AWAITED_BACKUP } from '../../../src/schema/platform/objects/labels.ts';
import { dumpRecord } from '../../kit/backup-record.ts';
import { newDeployment } from '../../kit/objects.ts';
import { startPlane, type Plane } from '../kit/api-server-plane.ts';

let plane: Plane;
const ids: Record<string, string> = {};
const at = (name: string): string => `/v2/deployments/${ids[name]}/backups`;

beforeAll(async () => {
  plane = await startPlane('backups');
  const specs = {
    kept: { database: { backup: { target: 'main' } } },
    bare: {},
    foreign: { database: { external: { secretName: 'mine' } } },
    resting: { hibernate: true, database: { backup: { target: 'main' } } },
  };
  for (const [name, spec] of Object.entries(specs)) {
    const made = await plane.kube.create(
      kinds.deployment,
      newDeployment(plane.namespace, { metadata: { name }, spec }),
    );
    ids[name] = made.metadata.uid ?? '';
  }
});
afterAll(() => plane.stop());

test('a request for a backup is written for the operator, and each further one is another', async () => {
  const [first, second] = [
    await plane.call<{ requested_at: string }>('POST', at('kept')),
    await plane.call<{ requested_at: string }>('POST', at('kept')),
  ];
  expect([first.status, second.status]).toEqual([202, 202]);
  expect(Date.parse(second.body.requested_at)).toBeGreaterThan(Date.parse(first.body.requested_at));
  const { spec, metadata } = await plane.kube.get(kinds.deployment, {
    namespace: plane.namespace,
    name: 'kept',
  });
  expect(spec.database?.backup).toEqual({ target: 'main', requestedAt: second.body.requested_at });
  expect(metadata.annotations?.[AWAITED_BACKUP]).toBeUndefined();
});

test('backups are listed newest first, and those of a former deployment of the name are not', async () => {
  const names = ['20261124t020000z', '20261125t020000z', '20261126t020000z'];
  const { namespace } = plane;
  for (const backup of names)
    await plane.kube.create(
      kinds.backup,
      dumpRecord({ namespace, deployment: 'kept', uid: ids.kept!, backup }),
    );
  const uid = '99999999-9999-4999-8999-999999999999';
  await plane.kube.create(
    kinds.backup,
    dumpRecord({ namespace, deployment: 'kept', uid, backup: '20261101t020000z' }),
  );
  const done = {
    phase: 'Succeeded',
    from: '2026-11-26T02:00:01Z',
    until: '2026-11-26T02:00:09Z',
    sizeBytes: 12,
    size: '12 B',
  };
  await plane.kube.patchStatus(kinds.backup, { namespace, name: 'kept-20261126t020000z' }, done);
  const { body } = await plane.call<{ resources: object[]; offset: number }>(
    'GET',
    `${at('kept')}?limit=2`,
    { key: plane.keys.read },
  );
  expect(body).toMatchObject({
    resources: [
      {
        name: 'kept-20261126t020000z',
        status: 'Succeeded',
        method: 'dump',
        target: 'main',
        from: done.from,
        size_bytes: 12,
        expires_at: null,
      },
      { name: 'kept-20261125t020000z', status: 'Running', from: null },
    ],
    offset: 2,
  });
  expect(
    (await plane.call<{ resources: object[] }>('GET', `${at('kept')}?offset=2`)).body.resources,
  ).toHaveLength(1);
});

test('one backup is found by its address, and one that is unknown, or of another deployment, is not', async () => {
  const name = 'kept-20261126t020000z';
  const found = await plane.call('GET', `${at('kept')}/${name}`, { key: plane.keys.read });
  expect([found.status, found.body]).toEqual([
    200,
    expect.objectContaining({ name, status: 'Succeeded', target: 'main' }),
  ]);
  for (const path of [`${at('kept')}/kept-20200101t000000z`, `${at('bare')}/${name}`]) {
    const { status, body } = await plane.call<{ detail: string }>('GET', path);
    expect([status, body.detail]).toEqual([404, expect.stringContaining('not found')]);
  }
  expect((await plane.call('GET', `${at('kept')}/kept-20261101t020000z`)).status).toBe(404);
  expect((await plane.call('GET', `${at('kept')}/${name}`, { key: plane.keys.other })).status).toBe(
    404,
  );
});

test.each([
  ['bare', 'database.backup: the deployment names no backup target'],
  ['foreign', 'database.backup: only for a managed database'],
  ['resting', 'hibernate: the database is stopped'],
])(
  'a request for one of the deployment %s is refused with the field and the reason',
  async (name, words) => {
    const { status, body } = await plane.call<{ detail: string }>('POST', at(name));
    expect([status, body.detail]).toEqual([400, expect.stringContaining(words)]);
  },
);

test('a key that may only read asks for none, and another tenant sees none', async () => {
  expect((await plane.call('POST', at('kept'), { key: plane.keys.read })).status).toBe(403);
  for (const method of ['GET', 'POST'] as const) {
    expect((await plane.call(method, at('kept'), { key: plane.keys.other })).status).toBe(404);
    expect((await plane.call(method, at('kept'), { key: null })).status).toBe(401);
  }
});
