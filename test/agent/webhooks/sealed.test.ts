import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { sealWebhookField } from '../../../src/agent/db/webhooks/push-configs.ts';
import {
  openWebhook,
  type DueWebhook,
  type ReportedEnd,
} from '../../../src/agent/db/webhooks/webhooks.ts';
import { SEALED_TABLES } from '../../../src/agent/db/encryption/sealed-tables.ts';
import { buildAesCodec } from '../../../src/agent/encryption/aes.ts';

/* What the database holds of a message where a key encrypts it. */

test('a message that is encrypted, and the address that it goes to, are read again with the key', async () => {
  const codec = buildAesCodec({
    keys: [Buffer.alloc(32, 7).toString('base64')],
    encrypts: true,
    names: ['secret'],
  });
  const run_id = randomUUID();
  const webhook = { url: 'https://example.com/hook?token=word', host: 'example.com' };
  const target = (await sealWebhookField({ codec }, run_id, { webhook }))!;
  const sealed = async (
    kind: 'run.kwargs' | 'thread.values' | 'run.error',
    of?: string,
  ): Promise<unknown> =>
    JSON.parse(
      await codec.seal({ kind, of }, JSON.stringify({ held: `a word of ${kind}` })),
    ) as unknown;
  const message = {
    run_id,
    status: 'error',
    metadata: { label: 'seen' },
    kwargs: await sealed('run.kwargs', run_id),
    values: await sealed('thread.values'),
    error: await sealed('run.error'),
  } as unknown as ReportedEnd;
  const { url } = JSON.parse(target) as { url: unknown };
  const due: DueWebhook = {
    run_id,
    url,
    host: 'example.com',
    attempts: 0,
    message,
    expired: false,
  };
  expect(JSON.stringify(due)).not.toContain('word');
  expect(await openWebhook({ codec }, due)).toEqual({
    url: 'https://example.com/hook?token=word',
    end: {
      run_id,
      status: 'error',
      metadata: { label: 'seen' },
      kwargs: { held: 'a word of run.kwargs' },
      values: { held: 'a word of thread.values' },
      error: { held: 'a word of run.error' },
    },
  });
});

test('whom a task tells is sealed anew with another key, in its run and where it is still to be told', async () => {
  const [old, next] = [7, 8].map((byte) => Buffer.alloc(32, byte).toString('base64'));
  const before = buildAesCodec({ keys: [old!], encrypts: true, names: [] });
  const after = buildAesCodec({ keys: [next!, old!], encrypts: true, names: [] });
  const alone = buildAesCodec({ keys: [next!], encrypts: true, names: [] });
  const [run_id, thread_id] = [randomUUID(), randomUUID()];
  const message = { run_id, thread_id } as unknown as ReportedEnd;
  const config = {
    id: 'one',
    url: 'https://example.com/hook',
    version: '1.0' as const,
    token: 'word',
    authentication: null,
  };
  const stored = JSON.parse(
    (await sealWebhookField({ codec: before }, run_id, {
      webhook: null,
      task: { push: { host: 'h', config } },
    }))!,
  ) as {
    push: { one: { config: unknown } };
  };
  const resealed = (table: string, column: string, value: unknown): Promise<unknown> =>
    SEALED_TABLES.find(({ name }) => name === table)!.columns[column]!.reseal(after, value, {
      run_id,
      message,
    });
  const anew = (await resealed('run', 'webhook', stored)) as typeof stored;
  expect(anew).not.toEqual(stored);
  expect(await resealed('run', 'webhook', anew)).toBe(anew);
  const questions = JSON.parse(
    await before.seal({ kind: 'thread.interrupts', of: thread_id }, '{"one":[]}'),
  ) as unknown;
  const push = { id: 'one', task: run_id, config: stored.push.one.config, questions };
  const due = { run_id: randomUUID(), url: null, host: 'h', attempts: 0, expired: false, message };
  const told = await openWebhook(
    { codec: alone },
    { ...due, push: (await resealed('webhook', 'push', push)) as typeof push },
  );
  expect(told).toMatchObject({
    url: config.url,
    push: { config, questions: { one: [] }, task: run_id },
  });
  expect(await resealed('webhook', 'push', null)).toBeNull();
});
