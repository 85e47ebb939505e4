import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { asAdmin } from '../../kit/postgres-template.ts';
import { until } from '../../kit/until.ts';
import {
  call,
  canary,
  everyInputIsRead,
  nothingIsFound,
  openEncrypted,
  thread_id,
  type Encrypted,
} from '../../kit/postgres-encrypted.ts';

/* What a server keeps whose values the handlers of `encryption.path` encrypt. */

const config = 'test/agent/wire/encryption/graphs/module.json';
const env = { MODULE_SECRET: 'a secret of the test' };

let server: Encrypted;

beforeAll(async () => {
  server = await openEncrypted({ config, env });
});

afterAll(() => server.stop());

everyInputIsRead(() => server);
nothingIsFound(() => server);

describe('searches that would have to look into it are refused by name', () => {
  test.each([
    ['threads by values', '/threads/search', { values: { note: 'x' } }, 'values'],
    [
      'threads by a label that is encrypted',
      '/threads/search',
      { metadata: { plain: 'seen', secret: 'x' } },
      'metadata.secret',
    ],
    [
      'assistants by a label that is encrypted',
      '/assistants/search',
      { metadata: { secret: 'x' } },
      'metadata.secret',
    ],
    [
      'crons by a label that is encrypted',
      '/runs/crons/search',
      { metadata: { secret: 'x' } },
      'metadata.secret',
    ],
    ['items by a filter', '/store/items/search', { filter: { note: 'x' } }, 'filter'],
    [
      'history by a label that is encrypted',
      `/threads/${thread_id}/history`,
      { metadata: { secret: 'x' } },
      'metadata.secret',
    ],
  ])('%s', async (_, place, body, field) => {
    const answer = await call(server.agent, 'POST', place, body);
    expect(answer.status).toBe(422);
    expect((answer.body as { detail: string }).detail).toContain(`body.${field}`);
  });
});

describe('another way of encrypting', () => {
  const note = async (): Promise<unknown> =>
    (await server.agent.client.threads.getState<{ note: string }>(thread_id)).values.note;

  test('follows when the module only reads, and a key writes', async () => {
    const before = await note();
    await server.start({
      config: 'test/agent/wire/encryption/graphs/only-reads.json',
      env: { ...env, GX_AES_KEY: 'k'.repeat(32) },
    });
    expect(await note()).toBe(before);
    await server.agent.client.runs.wait(thread_id, 'keeps', { input: { note: canary('by-key') } });
    expect(await note()).toBe(canary('by-key'));
    // Nobody waits for the minutes after which a key counts as used no more.
    await asAdmin(server.database, (client) =>
      client.query(`update gx.encryption_key set used_at = now() - interval '1 hour'`),
    );
    await until(
      'nothing is left of the module',
      () => server.agent.output().includes('no value of these keys is left'),
      120,
    );
    await server.start({
      config: 'test/agent/wire/encryption/graphs/gx.json',
      env: { GX_AES_KEY: 'k'.repeat(32) },
    });
    expect(await note()).toBe(canary('by-key'));
  });

  test('and the other way round', async () => {
    await server.start({ config, env: { ...env, GX_AES_KEY: `none,${'k'.repeat(32)}` } });
    expect(await note()).toBe(canary('by-key'));
    await server.agent.client.runs.wait(thread_id, 'keeps', {
      input: { note: canary('by-module') },
    });
    expect(await note()).toBe(canary('by-module'));
  });
});
