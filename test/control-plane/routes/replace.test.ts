import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds } from '../../../src/kube/kinds.ts';
import { deriveAesKeyId } from '../../../src/schema/agent/aes-key-id.ts';
import type { DatabaseSpec } from '../../../src/schema/platform/spec/database-spec.ts';
import type { Deployment } from '../../../src/schema/platform/deployment/deployment.ts';
import { dumpRecord } from '../../kit/backup-record.ts';
import { newDeployment } from '../../kit/objects.ts';
import { startPlane, type Plane } from '../kit/api-server-plane.ts';

const KEY = Buffer.alloc(32, 7);
const GOOD = 'chat-20261126t020000z';
let plane: Plane;
let chat: string;
const make = async (
  name: string,
  database: DatabaseSpec = {},
  hibernate = false,
): Promise<string> =>
  (
    await plane.kube.create(
      kinds.deployment,
      newDeployment(plane.namespace, { metadata: { name }, spec: { database, hibernate } }),
    )
  ).metadata.uid ?? '';

beforeAll(async () => {
  plane = await startPlane('replace');
  const { kube, namespace } = plane;
  chat = await make('chat', { backup: { target: 'main' } });
  for (const [backup, status] of Object.entries({
    '20261126t020000z': { phase: 'Succeeded', from: '2026-11-26T02:00:01Z', keys: [] },
    '20261127t020000z': {
      phase: 'Succeeded',
      from: '2026-11-27T02:00:01Z',
      keys: [deriveAesKeyId(KEY)],
    },
  })) {
    const made = await kube.create(
      kinds.backup,
      dumpRecord({ namespace, deployment: 'chat', uid: chat, backup }),
    );
    await kube.patchStatus(kinds.backup, { namespace, name: made.metadata.name }, status);
  }
});
afterAll(() => plane.stop());

const ask = (body: object, { id = chat, key }: { id?: string; key?: string } = {}) =>
  plane.call<{ detail: string; requested_at: string }>('POST', `/v2/deployments/${id}/restore`, {
    body,
    ...(key !== undefined && { key }),
  });
const specOf = async (name: string) =>
  (await plane.kube.get(kinds.deployment, { namespace: plane.namespace, name })).spec.database;

test.each([
  ['no source', {}, 'either backup, deployment_id or volume'],
  ['two sources', { backup: GOOD, volume: 'data-1' }, 'either backup, deployment_id or volume'],
  [
    'an unknown backup',
    { backup: 'chat-20261101t020000z' },
    'backup: there is no backup chat-20261101t020000z',
  ],
  [
    'a moment beside a backup',
    { backup: GOOD, at: '2026-11-26T00:00:00Z' },
    'at: only beside deployment_id',
  ],
  [
    'a moment that is to come',
    { deployment_id: '44444444-4444-4444-8444-444444444444', at: '2999-01-01T00:00:00Z' },
    'at: is in the future',
  ],
  ['an unknown volume', { volume: 'data-1' }, 'volume: the deployment has no former volume data-1'],
  [
    'unknown SQL',
    { backup: GOOD, sql_config_map: 'nothing' },
    'sql_config_map: there is no ConfigMap nothing',
  ],
  [
    'keys that its secrets lack',
    { backup: 'chat-20261127t020000z' },
    'GX_AES_KEY must hold these keys',
  ],
])(
  '%s is refused with the field and the reason, and nothing is asked',
  async (_situation, body, words) => {
    const { status, body: answer } = await ask(body);
    expect([status, answer.detail]).toEqual([400, expect.stringContaining(words)]);
    expect((await specOf('chat'))?.restore).toBeUndefined();
  },
);

test('a moment that is not kept, data that can not be backed up, and a database that is stopped are refused', async () => {
  expect((await ask({ deployment_id: chat, at: '2026-11-01T00:00:00Z' })).body.detail).toBe(
    'at: the oldest backup has the data of 2026-11-26T02:00:01Z',
  );
  const bare = await make('bare');
  await expect
    .poll(async () => (await ask({ backup: GOOD }, { id: bare })).body.detail)
    .toContain('without_backup: the deployment names no backup target');
  const asleep = await make('resting', { backup: { target: 'main' } }, true);
  await expect
    .poll(async () => (await ask({ backup: GOOD }, { id: asleep })).body.detail)
    .toContain('hibernate: the database is stopped');
  expect((await ask({ backup: GOOD, without_backup: true }, { id: bare })).status).toBe(202);
});

test('a key that may only read restores nothing, and the deployment of another tenant is not found', async () => {
  expect((await ask({ backup: GOOD }, { key: plane.keys.read })).status).toBe(403);
  expect((await ask({ backup: GOOD }, { key: plane.keys.other })).status).toBe(404);
  expect((await specOf('chat'))?.restore).toBeUndefined();
});

test('a restore is asked for with the time of now, and a later one takes a former volume', async () => {
  const { status, body } = await ask({ backup: GOOD, resume: false });
  expect(status).toBe(202);
  expect(await specOf('chat')).toEqual({
    backup: { target: 'main' },
    restore: { backup: GOOD, resume: false, replaceRequestedAt: body.requested_at },
  });
  const formerVolumes = [{ claim: 'data-1-chat-db-0', until: '2026-12-05T00:00:00Z' }];
  await plane.kube.patchStatus(
    kinds.deployment,
    { namespace: plane.namespace, name: 'chat' },
    { formerVolumes },
  );
  await expect
    .poll(
      async () =>
        (await plane.call<Deployment>('GET', `/v2/deployments/${chat}`)).body.restore
          ?.former_volumes,
    )
    .toEqual(formerVolumes);
  const second = await ask({ volume: 'data-1-chat-db-0' });
  expect(second.status).toBe(202);
  expect(second.body.requested_at > body.requested_at).toBe(true);
  expect((await specOf('chat'))?.restore).toEqual({
    volume: 'data-1-chat-db-0',
    replaceRequestedAt: second.body.requested_at,
  });
});

test('a second restore is refused while one is under way', async () => {
  const at = '2026-11-28T00:00:00Z';
  const status = { replacement: { requestedAt: at, since: at, step: 'BackingUp' } };
  await plane.kube.patchStatus(
    kinds.deployment,
    { namespace: plane.namespace, name: 'chat' },
    status,
  );
  expect((await ask({ backup: GOOD })).status).toBe(409);
});
