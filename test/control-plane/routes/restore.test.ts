import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds } from '../../../src/kube/kinds.ts';
import { AWAITED_BACKUP } from '../../../src/schema/platform/objects/labels.ts';
import { deriveAesKeyId } from '../../../src/schema/agent/aes-key-id.ts';
import type { Deployment } from '../../../src/schema/platform/deployment/deployment.ts';
import { dumpRecord } from '../../kit/backup-record.ts';
import { newDeployment } from '../../kit/objects.ts';
import { creation, startPlane, type Plane } from '../kit/api-server-plane.ts';

const KEY = Buffer.alloc(32, 7).toString('base64');
const UNKNOWN = '44444444-4444-4444-8444-444444444444';
let plane: Plane;
let source: string;

beforeAll(async () => {
  plane = await startPlane('restore');
  const { kube, namespace } = plane;
  const spec = { database: { backup: { target: 'main' } } };
  source =
    (
      await kube.create(
        kinds.deployment,
        newDeployment(namespace, { metadata: { name: 'chat' }, spec }),
      )
    ).metadata.uid ?? '';
  for (const [backup, status] of Object.entries({
    '20261124t020000z': {
      phase: 'Succeeded',
      from: '2026-11-24T02:00:01Z',
      keys: [deriveAesKeyId(Buffer.from(KEY, 'base64')), 'encryption.path'],
    },
    '20261125t020000z': { phase: 'Failed', message: 'The store is full.' },
    '20261126t020000z': { phase: 'Succeeded', from: '2026-11-26T02:00:01Z', keys: [] },
    '20261127t020000z': { phase: 'Running' },
  })) {
    const made = await kube.create(
      kinds.backup,
      dumpRecord({ namespace, deployment: 'chat', uid: source, backup }),
    );
    await kube.patchStatus(kinds.backup, { namespace, name: made.metadata.name }, status);
  }
});
afterAll(() => plane.stop());

const ask = (
  name: string,
  restore: object,
  more: { secrets?: object[]; key?: string; query?: string } = {},
) =>
  plane.call<Deployment & { detail: string }>('POST', `/v2/deployments${more.query ?? ''}`, {
    body: creation(name, { database: { restore }, ...(more.secrets && { secrets: more.secrets }) }),
    ...(more.key !== undefined && { key: more.key }),
  });
const SEALED = [{ name: 'GX_AES_KEY', value: KEY }];

test('a deployment begins with the backup that it names, and its answer says how far that is', async () => {
  const { status, body } = await ask(
    'copy',
    { backup: 'chat-20261124t020000z', resume: true },
    { secrets: SEALED },
  );
  expect([status, body.restore]).toEqual([
    201,
    {
      status: 'Unknown',
      reason: 'Restoring',
      message: expect.any(String) as string,
      backup: null,
      from: null,
      former_volumes: [],
    },
  ]);
  const { spec } = await plane.kube.get(kinds.deployment, {
    namespace: plane.namespace,
    name: 'copy',
  });
  expect(spec.database).toEqual({ restore: { backup: 'chat-20261124t020000z', resume: true } });
  const done = {
    restoredBackup: `${source}/20261124t020000z`,
    restoredFrom: '2026-11-24T02:00:01Z',
    conditions: [
      {
        type: 'Restored',
        status: 'True',
        reason: 'Restored',
        message: 'The database was restored.',
        lastTransitionTime: '2026-11-26T00:00:00Z',
      },
    ],
  };
  await plane.kube.patchStatus(
    kinds.deployment,
    { namespace: plane.namespace, name: 'copy' },
    done,
  );
  await expect
    .poll(
      async () => (await plane.call<Deployment>('GET', `/v2/deployments/${body.id}`)).body.restore,
    )
    .toMatchObject({
      status: 'True',
      reason: 'Restored',
      backup: done.restoredBackup,
      from: done.restoredFrom,
    });
});

test('a moment stands for the newest backup before it, and a folder of another cluster for itself', async () => {
  expect(
    (
      await ask(
        'moment',
        { deployment_id: source, at: '2026-11-26T12:00:00Z' },
        { query: '?dry_run=true' },
      )
    ).status,
  ).toBe(201);
  expect(
    (await ask('far', { deployment_id: UNKNOWN, target: 'main' }, { query: '?dry_run=true' }))
      .status,
  ).toBe(201);
});

test.each([
  [
    'an unknown backup',
    { backup: 'chat-20261101t020000z' },
    'database.restore.backup: there is no backup chat-20261101t020000z',
  ],
  [
    'one that failed',
    { backup: 'chat-20261125t020000z' },
    'database.restore.backup: backup chat-20261125t020000z failed: The store is full.',
  ],
  [
    'one that is being made',
    { backup: 'chat-20261127t020000z' },
    'database.restore.backup: backup chat-20261127t020000z is still being made',
  ],
  [
    'neither a backup nor a deployment',
    { resume: true },
    'database.restore: either backup or deployment_id',
  ],
  [
    'both',
    { backup: 'chat-20261126t020000z', deployment_id: UNKNOWN },
    'database.restore: either backup or deployment_id',
  ],
  [
    'a moment beside a backup',
    { backup: 'chat-20261126t020000z', at: '2026-11-26T00:00:00Z' },
    'database.restore.at: only beside deployment_id',
  ],
  [
    'a deployment that nobody knows here, without a target',
    { deployment_id: UNKNOWN },
    'database.restore.target: required',
  ],
])('%s is refused with the field and the reason', async (_what, restore, words) => {
  const { status, body } = await ask('refused', restore);
  expect([status, body.detail]).toEqual([400, expect.stringContaining(words)]);
});

test('a moment in the future, and one before the oldest backup, is refused', async () => {
  const future = await ask('refused', { deployment_id: source, at: '2999-01-01T00:00:00Z' });
  expect([future.status, future.body.detail]).toEqual([
    400,
    'database.restore.at: is in the future',
  ]);
  const early = await ask('refused', { deployment_id: source, at: '2026-11-01T00:00:00Z' });
  expect([early.status, early.body.detail]).toEqual([
    400,
    'database.restore.at: the oldest backup has the data of 2026-11-24T02:00:01Z',
  ]);
});

test('a moment after the data was replaced is refused until there is a copy of it', async () => {
  const { kube, namespace } = plane;
  const [name, method] = ['replaced', 'continuous' as const];
  const made = newDeployment(namespace, {
    metadata: { name },
    spec: { database: { backup: { target: 'main', method } } },
  });
  const id = (await kube.create(kinds.deployment, made)).metadata.uid ?? '';
  const keep = async (backup: string, from: string): Promise<void> => {
    const record = dumpRecord({ namespace, deployment: name, uid: id, backup });
    await kube.create(kinds.backup, { ...record, spec: { ...record.spec, method } });
    await kube.patchStatus(
      kinds.backup,
      { namespace, name: record.metadata.name },
      { phase: 'Succeeded', from, keys: [] },
    );
  };
  const detail = async (restore: object): Promise<unknown> => {
    const { status, body } = await ask(
      'refused',
      { deployment_id: id, ...restore },
      { query: '?dry_run=true' },
    );
    return status === 201 ? 201 : body.detail;
  };
  await keep('20261126t020000z', '2026-11-26T02:00:01Z');
  await kube.patchStatus(
    kinds.deployment,
    { namespace, name },
    { restoredAt: '2026-11-26T04:00:00Z' },
  );
  await expect
    .poll(() => detail({}))
    .toBe(
      'database.restore.deployment_id: its data was replaced at 2026-11-26T04:00:00Z, and there is no copy of it yet',
    );
  await keep('20261126t044000z', '2026-11-26T04:40:05Z');
  expect(await detail({ at: '2026-11-26T04:30:00Z' })).toBe(
    'database.restore.at: the data was replaced at 2026-11-26T04:00:00Z, and moments between that and the next copy are not kept',
  );
  for (const at of [undefined, '2026-11-26T03:00:00Z', '2026-11-26T05:00:00Z'])
    expect(await detail({ at })).toBe(201);
});

test('a backup whose keys the secrets lack is refused, and so is one into a database outside', async () => {
  const other = [{ name: 'GX_AES_KEY', value: Buffer.alloc(32, 8).toString('base64') }];
  for (const secrets of [[], other]) {
    const { status, body } = await ask('refused', { backup: 'chat-20261124t020000z' }, { secrets });
    expect([status, body.detail]).toEqual([
      400,
      expect.stringContaining(deriveAesKeyId(Buffer.from(KEY, 'base64'))),
    ]);
    expect(body.detail).not.toContain(KEY);
  }
  const custom = [
    { name: 'POSTGRES_URI_CUSTOM', value: 'postgresql://agents:canary@db.example/agents' },
  ];
  const { status, body } = await ask(
    'refused',
    { backup: 'chat-20261126t020000z' },
    { secrets: custom },
  );
  expect([status, body.detail]).toEqual([
    400,
    expect.stringContaining('database.restore: only for a managed database'),
  ]);
});

test('a clone asks for a backup of its original, and waits for that one', async () => {
  const { kube, namespace } = plane;
  await kube.create(kinds.configMap, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'remove-mails', namespace },
    data: { a: '' },
  });
  const database = { clone_of: source, restore: { sql_config_map: 'remove-mails' } };
  expect(
    (
      await plane.call('POST', '/v2/deployments?dry_run=true', {
        body: creation('clone', { database }),
      })
    ).status,
  ).toBe(201);
  expect(
    (await kube.get(kinds.deployment, { namespace, name: 'chat' })).spec.database?.backup
      ?.requestedAt,
  ).toBeUndefined();
  expect(
    (await plane.call('POST', '/v2/deployments', { body: creation('clone', { database }) })).status,
  ).toBe(201);
  const { spec, metadata } = await kube.get(kinds.deployment, { namespace, name: 'chat' });
  const { requestedAt } = spec.database?.backup ?? {};
  expect(requestedAt).toBeDefined();
  expect(metadata.annotations?.[AWAITED_BACKUP]).toBe(requestedAt);
  expect((await kube.get(kinds.deployment, { namespace, name: 'clone' })).spec.database).toEqual({
    restore: { deployment: source, requestedAt, sqlConfigMap: 'remove-mails' },
  });
  await kube.delete(kinds.deployment, { namespace, name: 'clone' });
});

test.each([
  [
    'an unknown original',
    { clone_of: UNKNOWN },
    'database.clone_of: there is no deployment with this id',
  ],
  [
    'a backup beside it',
    { clone_of: UNKNOWN, restore: { backup: 'a' } },
    'database.restore: neither backup nor deployment_id beside clone_of',
  ],
])('a clone with %s is refused with the field and the reason', async (_what, database, words) => {
  const { status, body } = await plane.call<{ detail: string }>('POST', '/v2/deployments', {
    body: creation('refused', { database }),
  });
  expect([status, body.detail]).toEqual([400, expect.stringContaining(words)]);
});

test('a clone of a deployment without backups, with unknown SQL, and of an encrypted one without its keys is refused', async () => {
  const { kube, namespace } = plane;
  const bare =
    (await kube.create(kinds.deployment, newDeployment(namespace, { metadata: { name: 'bare' } })))
      .metadata.uid ?? '';
  const asked = async (database: object): Promise<unknown> =>
    (
      await plane.call<{ detail: string }>('POST', '/v2/deployments', {
        body: creation('refused', { database }),
      })
    ).body.detail;
  await expect
    .poll(() => asked({ clone_of: bare }))
    .toContain('database.clone_of: no backup of bare can be made: database.backup');
  expect(await asked({ clone_of: source, restore: { sql_config_map: 'nothing' } })).toContain(
    'database.restore.sql_config_map: there is no ConfigMap nothing',
  );
  const name = 'chat-20261126t020000z';
  await kube.patchStatus(
    kinds.backup,
    { namespace, name },
    { phase: 'Succeeded', from: '2026-11-26T02:00:01Z', keys: ['0a1b2c3d'] },
  );
  expect(await asked({ clone_of: source })).toContain('0a1b2c3d; GX_AES_KEY must hold these keys');
  await kube.delete(kinds.deployment, { namespace, name: 'bare' });
});

test("another tenant's backup is not found, and a key that may only read restores nothing", async () => {
  const asked = { source_config: { listener_config: { k8s_namespace: plane.namespace } } };
  const body = creation('refused', { database: { restore: { backup: 'chat-20261126t020000z' } } });
  expect((await plane.call('POST', '/v2/deployments', { body, key: plane.keys.read })).status).toBe(
    403,
  );
  expect(
    (
      await plane.call('POST', '/v2/deployments', {
        body: { ...body, ...asked },
        key: plane.keys.other,
      })
    ).status,
  ).toBe(400);
  const names = (await plane.kube.listAll(kinds.deployment, { namespace: plane.namespace })).map(
    ({ metadata }) => metadata.name,
  );
  expect(names).not.toContain('refused');
});
