import { expect, test } from 'vitest';
import {
  readEncryptionSettings,
  type EncryptionSettings,
} from '../../src/config/agent/encryption.ts';
import { SettingsReader, type Env } from '../../src/config/env.ts';

function settings(env: Env): EncryptionSettings | undefined {
  const read = new SettingsReader(env);
  const found = readEncryptionSettings(read);
  read.finish();
  return found;
}

const [SHORT, LONG] = ['0123456789abcdef', '0123456789abcdef0123456789abcdef'];
const BASE64 = Buffer.alloc(32, 7).toString('base64');
const of = (text: string): string => Buffer.from(text).toString('base64');

test.each([
  ['without a key nothing is encrypted', {}, undefined],
  [
    'a key is a text of 16, 24 or 32 bytes',
    { GX_AES_KEY: SHORT },
    { keys: [of(SHORT)], encrypts: true, names: [] },
  ],
  ['a key may be base64', { GX_AES_KEY: BASE64 }, { keys: [BASE64], encrypts: true, names: [] }],
  [
    'the first of several keys writes',
    { LANGGRAPH_AES_KEY: `${LONG}, ${SHORT}` },
    { keys: [of(LONG), of(SHORT)], encrypts: true, names: [] },
  ],
  [
    'behind "none" keys only read',
    { GX_AES_KEY: `none,${LONG}` },
    { keys: [of(LONG)], encrypts: false, names: [] },
  ],
  [
    'a single key may have a comma in it',
    { GX_AES_KEY: '0123456,89abcdef' },
    { keys: [of('0123456,89abcdef')], encrypts: true, names: [] },
  ],
  [
    'fields are named',
    { GX_AES_KEY: LONG, GX_AES_JSON_KEYS: 'a, b' },
    { keys: [of(LONG)], encrypts: true, names: ['a', 'b'] },
  ],
  [
    'it may be strict',
    { GX_AES_KEY: LONG, GX_AES_STRICT: 'true' },
    { keys: [of(LONG)], encrypts: true, names: [], strict: true },
  ],
])('%s', (_, env, expected) => {
  expect(settings(env)).toEqual(expected);
});

test.each([
  [
    'a key of another length',
    { GX_AES_KEY: 'short' },
    /GX_AES_KEY must hold keys of 16, 24 or 32 bytes/,
  ],
  ['a list with a bad key', { GX_AES_KEY: `${LONG},short` }, /GX_AES_KEY must hold keys/],
  ['"none" alone', { GX_AES_KEY: 'none' }, /GX_AES_KEY must hold keys/],
  ['names without a key', { GX_AES_JSON_KEYS: 'a' }, /GX_AES_JSON_KEYS is set without GX_AES_KEY/],
  [
    'strictness without a key',
    { GX_AES_STRICT: 'true' },
    /GX_AES_STRICT is set without GX_AES_KEY/,
  ],
  [
    'strictness where nothing is encrypted',
    { GX_AES_KEY: `none,${LONG}`, GX_AES_STRICT: 'true' },
    /GX_AES_STRICT needs a key/,
  ],
  [
    'a name of the server',
    { GX_AES_KEY: LONG, GX_AES_JSON_KEYS: 'langgraph_auth_user' },
    /can't encrypt "langgraph_auth_user"/,
  ],
  [
    'a name that the server itself needs',
    { GX_AES_KEY: LONG, GX_AES_JSON_KEYS: 'a,graph_id' },
    /can't encrypt "graph_id"/,
  ],
])('%s is refused, and the key is not told', (_, env, message) => {
  expect(() => settings(env)).toThrow(message);
  expect(() => settings(env)).not.toThrow(LONG);
});
