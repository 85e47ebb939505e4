import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { openWebhook, targetField, type DueWebhook, type ToldEnd } from '../../../src/agent/db/webhooks.ts';
import { aesCodec } from '../../../src/agent/encryption/aes.ts';

/* What the database holds of a message where a key encrypts it. */

test('a message that is encrypted, and the address that it goes to, are read again with the key', async () => {
  const codec = aesCodec({ keys: [Buffer.alloc(32, 7).toString('base64')], encrypts: true, names: ['secret'] });
  const run_id = randomUUID();
  const target = await targetField({ codec }, run_id, { url: 'https://example.com/hook?token=word', host: 'example.com' });
  const sealed = async (kind: 'run.kwargs' | 'thread.values' | 'run.error', of?: string): Promise<unknown> =>
    JSON.parse(await codec.seal({ kind, of }, JSON.stringify({ held: `a word of ${kind}` }))) as unknown;
  const message = {
    run_id,
    status: 'error',
    metadata: { label: 'seen' },
    kwargs: await sealed('run.kwargs', run_id),
    values: await sealed('thread.values'),
    error: await sealed('run.error'),
  } as unknown as ToldEnd;
  const { url } = JSON.parse(target) as { url: unknown };
  const due: DueWebhook = { run_id, url, host: 'example.com', attempts: 0, message, expired: false };
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
