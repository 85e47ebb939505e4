import { expect, test } from 'vitest';
import {
  deriveClientSigner,
  isClientSignedBy,
  createClientSigner,
  SIGNATURE_HEADER,
} from '../../src/http/callers/signed-client.ts';

/* The word of the gateway about a client is signed. Nobody else can write it, and it serves no other request. */

const OF = '/v1/deployments/team/chat/work';
const AT = 1_800_000_000;
const signer = createClientSigner();
const told = {
  'x-forwarded-for': '203.0.113.7',
  'x-forwarded-proto': 'https',
  'x-forwarded-host': 'chat.example.com',
};
const asked = { method: 'POST', url: '/runs?x=1', headers: told };
const signature = signer.sign(asked, { of: OF, at: AT });
const shown = (headers: object = {}, request: object = {}) => ({
  ...asked,
  ...request,
  headers: { ...told, [SIGNATURE_HEADER]: signature, ...headers },
});
const counts = (seen = shown(), { of = OF, at = AT, keys = [signer.key] } = {}): boolean =>
  isClientSignedBy(keys, seen, { of, at });

test('a signature counts for the request that was signed, for a minute on clocks that differ, and by any known key', () => {
  expect(counts()).toBe(true);
  expect([counts(shown(), { at: AT + 60 }), counts(shown(), { at: AT - 60 })]).toEqual([
    true,
    true,
  ]);
  expect(counts(shown(), { keys: [createClientSigner().key, signer.key] })).toBe(true);
});

test.each([
  ['of another client', shown({ 'x-forwarded-for': '198.51.100.1' })],
  ['of another scheme', shown({ 'x-forwarded-proto': 'http' })],
  ['of another host', shown({ 'x-forwarded-host': 'evil.example' })],
  ['of no prefix, with one', shown({ 'x-forwarded-prefix': '/evil' })],
  ['of another method', shown({}, { method: 'GET' })],
  ['of another path', shown({}, { url: '/runs?x=2' })],
  ['that is missing', shown({ [SIGNATURE_HEADER]: undefined })],
  ['that is nonsense', shown({ [SIGNATURE_HEADER]: 'nonsense' })],
  [
    'with a changed time',
    shown({ [SIGNATURE_HEADER]: signature.replace(String(AT), String(AT + 1)) }),
  ],
  [
    'of a key that nobody told of',
    shown({ [SIGNATURE_HEADER]: createClientSigner().sign(asked, { of: OF, at: AT }) }),
  ],
])('a signature %s counts for nothing', (_, seen) => {
  expect(counts(seen)).toBe(false);
});

test('a signature for another deployment, or of another time, counts for nothing', () => {
  expect(counts(shown(), { of: '/v1/deployments/team/other/work' })).toBe(false);
  expect([counts(shown(), { at: AT + 61 }), counts(shown(), { at: AT - 61 })]).toEqual([
    false,
    false,
  ]);
  expect(counts(shown(), { keys: [] })).toBe(false);
});

test('processes that share a secret know the signatures of each other, and one with another secret does not', () => {
  const [secret, other] = [Buffer.from('s'.repeat(32)), Buffer.from('t'.repeat(32))];
  const seen = shown({
    [SIGNATURE_HEADER]: deriveClientSigner(secret).sign(asked, { of: OF, at: AT }),
  });
  expect(counts(seen, { keys: [deriveClientSigner(secret).key] })).toBe(true);
  expect(counts(seen, { keys: [deriveClientSigner(other).key] })).toBe(false);
});
