import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds } from '../../../src/kube/kinds.ts';
import type { BackupSpec } from '../../../src/schema/platform/backup/backup-spec.ts';
import type { Deployment } from '../../../src/schema/platform/deployment/deployment.ts';
import { creation, startPlane, type Plane } from '../kit/api-server-plane.ts';

/* Where the backups of a deployment go, when they are made and which are kept, by REST. */
let plane: Plane;
beforeAll(async () => {
  plane = await startPlane('backup-settings');
});
afterAll(() => plane.stop());

type Answer = Deployment & { detail: string };
const create = (backup: object | null, parts: object = {}) =>
  plane.call<Answer>('POST', '/v2/deployments', {
    body: creation(`d-${randomUUID().slice(0, 8)}`, {
      source_config: { database_backup: backup },
      ...parts,
    }),
  });
const patch = (id: string, body: object) =>
  plane.call<Answer>('PATCH', `/v2/deployments/${id}`, { body });
const stored = async ({ name }: Deployment): Promise<BackupSpec | undefined> =>
  (await plane.kube.get(kinds.deployment, { namespace: plane.namespace, name })).spec.database
    ?.backup;

const DAILY = {
  target: 'main',
  schedule: '0 2 * * *',
  time_zone: 'Europe/Berlin',
  keep: { days: 30 },
};
const SHOWN = { ...DAILY, keep: { count: null, days: 30 }, method: null, before_deletion: null };

test('settings of backups are stored where the operator reads them, and answered as they were sent', async () => {
  const { status, body } = await create(DAILY);
  expect([status, body.detail]).toEqual([201, undefined]);
  expect(body.source_config.database_backup).toEqual(SHOWN);
  expect(await stored(body)).toEqual({
    target: 'main',
    schedule: '0 2 * * *',
    timeZone: 'Europe/Berlin',
    keep: { days: 30 },
  });
  const { body: bare } = await create(null);
  expect([bare.source_config.database_backup, await stored(bare)]).toEqual([null, undefined]);
});

test('a deletion waits for a backup unless its request says that none is needed', async () => {
  const { body: made } = await create({ target: 'main', before_deletion: true });
  expect([made.source_config.database_backup?.before_deletion, await stored(made)]).toEqual([
    true,
    { target: 'main', beforeDeletion: true },
  ]);
  await plane.call('DELETE', `/v2/deployments/${made.id}?delete_data=true`);
  expect(await stored(made)).toEqual({ target: 'main', beforeDeletion: true });
  expect(
    (await plane.call('DELETE', `/v2/deployments/${made.id}?delete_data=true&without_backup=true`))
      .status,
  ).toBe(204);
  expect(await stored(made)).toEqual({ target: 'main', beforeDeletion: false });
});

test('a patch replaces them without a revision, keeps the last request, and takes them away by an empty object', async () => {
  const { body: before } = await create(DAILY);
  const { body: asked } = await plane.call<{ requested_at: string }>(
    'POST',
    `/v2/deployments/${before.id}/backups`,
  );
  const moved = await patch(before.id, {
    source_config: { database_backup: { target: 'other', keep: { count: 3 } } },
  });
  expect([moved.status, moved.body.latest_revision_id]).toEqual([200, before.latest_revision_id]);
  expect(await stored(before)).toEqual({
    target: 'other',
    keep: { count: 3 },
    requestedAt: asked.requested_at,
  });
  // Another patch, and a whole answer that is sent back, leave them as they are.
  await patch(before.id, { source_config: moved.body.source_config });
  expect(await stored(before)).toEqual({
    target: 'other',
    keep: { count: 3 },
    requestedAt: asked.requested_at,
  });
  const cleared = await patch(before.id, { source_config: { database_backup: {} } });
  expect([
    cleared.status,
    cleared.body.source_config.database_backup,
    await stored(before),
  ]).toEqual([200, null, undefined]);
});

const AT = 'source_config.database_backup';

test.each([
  ['no target', { schedule: '0 2 * * *' }, `${AT}.target: required`],
  [
    'a schedule that is none',
    { ...DAILY, schedule: 'at two' },
    `${AT}.schedule: "at two" is not a schedule of five fields`,
  ],
  [
    'a schedule that never comes',
    { ...DAILY, schedule: '0 2 31 2 *' },
    `${AT}.schedule: "0 2 31 2 *" is not a schedule`,
  ],
  [
    'a zone that is none',
    { ...DAILY, time_zone: 'Europe/Atlantis' },
    `${AT}.time_zone: "Europe/Atlantis" is not a time zone`,
  ],
  ['a zone alone', { target: 'main', time_zone: 'UTC' }, `${AT}.time_zone: only beside a schedule`],
  [
    'a count and days',
    { target: 'main', keep: { count: 1, days: 1 } },
    `${AT}.keep: either count or days`,
  ],
  ['neither a count nor days', { target: 'main', keep: {} }, `${AT}.keep: either count or days`],
])(
  '%s is refused with the field and the reason, and nothing changes',
  async (_what, backup, words) => {
    const made = await create(backup);
    expect([made.status, made.body.detail]).toEqual([400, expect.stringContaining(words)]);
    const { body: before } = await create(DAILY);
    const changed = await patch(before.id, { source_config: { database_backup: backup } });
    expect([changed.status, changed.body.detail]).toEqual([400, expect.stringContaining(words)]);
    expect(await stored(before)).toMatchObject({ target: 'main', schedule: '0 2 * * *' });
  },
);

test('a method is stored, and answered', async () => {
  const { body } = await create({ target: 'main', method: 'continuous' });
  expect([body.source_config.database_backup?.method, await stored(body)]).toEqual([
    'continuous',
    { target: 'main', method: 'continuous' },
  ]);
});

test('a count of none, and a method that is none, do not fit the schema', async () => {
  for (const more of [{ keep: { count: 0 } }, { method: 'often' }]) {
    const { status, body } = await create({ target: 'main', ...more });
    expect([status, JSON.stringify(body.detail)]).toEqual([
      422,
      expect.stringContaining('database_backup'),
    ]);
  }
});

test('a database of the user has none', async () => {
  const secrets = [{ name: 'POSTGRES_URI_CUSTOM', value: 'postgres://db.example/agents' }];
  const { status, body } = await create(DAILY, { secrets });
  expect([status, body.detail]).toEqual([
    400,
    expect.stringContaining(`${AT}: only for a managed database`),
  ]);
});
