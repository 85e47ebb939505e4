import { describe, expect, test } from 'vitest';
import { buildWebhookHeaders } from '../../../src/agent/webhooks/headers.ts';
import { decideSendOutcome, pauseAfter } from '../../../src/agent/webhooks/outcome-rules.ts';
import { buildSignatureHeaders } from '../../../src/agent/webhooks/signature.ts';
import { readAgentConfig } from '../../../src/config/agent/agent.ts';

const env: Record<string, string> = {
  LG_WEBHOOK_TOKEN: 'secret',
  MY_TOKEN: 'mine',
  OTHER: 'x',
  LG_WEBHOOK_LINE: 'a\nb',
};
const headersOf = (headers: Record<string, string>, env_prefix?: string): Record<string, string> =>
  buildWebhookHeaders(
    { headers, ...(env_prefix !== undefined && { env_prefix }) },
    (name) => env[name],
  );

describe('headers', () => {
  test('have the variables that they name', () => {
    expect(
      headersOf({
        Authorization: 'Bearer ${{ env.LG_WEBHOOK_TOKEN }}',
        'X-A': 'a ${{env.LG_WEBHOOK_TOKEN}} b',
      }),
    ).toEqual({
      authorization: 'Bearer secret',
      'x-a': 'a secret b',
    });
    expect(headersOf({ 'X-A': '${{ env.MY_TOKEN }}' }, 'MY_')).toEqual({ 'x-a': 'mine' });
  });

  test.each([
    ['a variable that is not set', { a: '${{ env.LG_WEBHOOK_NONE }}' }, 'is not set'],
    ['a variable that they may not name', { a: '${{ env.OTHER }}' }, 'LG_WEBHOOK_'],
    ['something else than a variable', { a: '${{ secrets.A }}' }, 'env.NAME'],
    ['a line break', { a: '${{ env.LG_WEBHOOK_LINE }}' }, 'character'],
    ['a name with a space', { 'a b': 'c' }, 'name of a header'],
    ['the host', { Host: 'example.com' }, 'sets itself'],
    ['a signature', { 'Webhook-Signature': 'v1,x' }, 'sets itself'],
  ])('end the start with %s', (_, headers, words) => {
    expect(() => headersOf(headers)).toThrow(words);
  });
});

const signingKeys = (secrets: string[]): Buffer[] =>
  readAgentConfig({ DATABASE_URI: 'postgresql://x', GX_WEBHOOK_SECRET: secrets.join(',') }).webhooks
    .keys;

describe('a signature', () => {
  test('is the one of the example that Standard Webhooks tests its libraries with', () => {
    const keys = signingKeys(['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw']);
    const message = {
      id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      seconds: 1_614_265_330,
      body: '{"test": 2432232314}',
    };
    expect(buildSignatureHeaders(message, keys)['webhook-signature']).toBe(
      'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    );
  });

  test('is one for each key while a secret takes the place of another', () => {
    const keys = signingKeys([
      'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
      `whsec_${Buffer.alloc(32, 1).toString('base64')}`,
    ]);
    expect(
      buildSignatureHeaders({ id: 'a', seconds: 1, body: '' }, keys)['webhook-signature'],
    ).toMatch(/^v1,\S+ v1,\S+$/);
  });

  test.each([
    'whsec_c2hvcnQ=',
    'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    'whsec_not base64 at all, although it is long enough',
  ])('has no key in %s', (secret) => {
    expect(() => signingKeys([secret])).toThrow('GX_WEBHOOK_SECRET');
  });
});

test.each([
  [204, { sent: true }],
  [302, { sent: false, again: false }],
  [400, { sent: false, again: false }],
  [408, { sent: false, again: false }],
  [429, { sent: false, again: true, afterSeconds: 7 }],
  [500, { sent: false, again: true }],
  [504, { sent: false, again: true }],
])('an answer of %i', (status, outcome) => {
  expect(decideSendOutcome(status, '7')).toMatchObject(outcome);
});

test('pauses grow, differ by chance, and follow what a receiver asks for within bounds', () => {
  expect([
    pauseAfter(1, undefined, 0),
    pauseAfter(1, undefined, 1),
    pauseAfter(2, undefined, 0.5),
  ]).toEqual([1, 3, 8]);
  expect([pauseAfter(1, 60, 0), pauseAfter(1, 999_999, 0)]).toEqual([60, 300]);
});
