import { expect, test } from 'vitest';
import { openToAll, openToUser } from '../../../src/agent/auth/authenticate.ts';
import type { AgentCaller } from '../../../src/agent/auth/caller.ts';
import { Callers } from '../../../src/agent/auth/callers.ts';
import { hasPass, openToLook, buildPassAuthentication } from '../../../src/agent/auth/passes.ts';
import { hashAgentKey } from '../../../src/schema/wire/agent-key.ts';
import type { PassWords } from '../../../src/schema/wire/agent-pass.ts';
import { passKeyOf, signPass, verifySignedPass } from '../../../src/tokens/agent-pass.ts';

/* Passes of the control plane, as an agent checks them. */

const [KEY, NEXT, OTHER] = ['gxa_this', 'gxa_next', 'gxa_other'];
const NOW = 1_800_000_000;
const words: PassWords = {
  deployment: 'd-1',
  subject: 'key-1',
  name: 'Ann',
  role: 'read',
  exp: NOW + 300,
};
const keysOf = (...keys: string[]): Uint8Array[] => keys.map((key) => passKeyOf(hashAgentKey(key)));

type Given = { pass: string; knows?: string[]; deploymentId?: string; now?: number };

const caller = ({ pass, knows = [KEY], deploymentId, now = NOW }: Given): AgentCaller =>
  buildPassAuthentication(
    { keys: () => keysOf(...knows), deploymentId, now: () => now * 1000 },
    openToAll,
    openToUser,
  )({
    source: '192.0.2.1',
    method: 'GET',
    url: '/threads',
    headers: { authorization: `Bearer ${pass}` },
  }) as AgentCaller;

test('a pass names its user and the role; one with the role read may only read', () => {
  const reader = caller({ pass: signPass(words, [KEY]) });
  expect(reader).toMatchObject({ identity: 'key-1', readsOnly: true, byPass: true });
  expect(reader.guard?.user).toEqual({
    identity: 'key-1',
    display_name: 'Ann',
    is_authenticated: true,
    permissions: ['read'],
    kind: 'StudioUser',
  });
  for (const role of ['write', 'admin'] as const)
    expect(caller({ pass: signPass({ ...words, role }, [KEY]) })).not.toHaveProperty('readsOnly');
});

test('a role that this version does not know may only read', () => {
  const odd = { ...words, role: 'owner' as 'read' };
  expect(caller({ pass: signPass(odd, [KEY]) })).toMatchObject({ readsOnly: true });
});

test('while a key changes, pods that know either one take the pass', () => {
  const during = signPass(words, [NEXT, KEY]);
  for (const knows of [[KEY], [NEXT], [NEXT, KEY]])
    expect(caller({ pass: during, knows }).identity).toBe('key-1');
  const before = signPass(words, [KEY]);
  expect(caller({ pass: before, knows: [NEXT, KEY] }).identity).toBe('key-1');
  expect(() => caller({ pass: before, knows: [NEXT] })).toThrow('does not open this deployment');
});

test('a pass of another deployment is refused: by its key, and by its id where the agent knows its own', () => {
  const foreign = { status: 401, message: 'The pass does not open this deployment.' };
  expect(() => caller({ pass: signPass(words, [OTHER]) })).toThrow(
    expect.objectContaining(foreign),
  );
  const pass = signPass(words, [KEY]);
  expect(() => caller({ pass, deploymentId: 'd-2' })).toThrow(expect.objectContaining(foreign));
  expect(caller({ pass, deploymentId: 'd-1' }).identity).toBe('key-1');
});

test('a pass ends after its time and the difference of clocks', () => {
  const pass = signPass(words, [KEY]);
  expect(caller({ pass, now: NOW + 329 }).identity).toBe('key-1');
  expect(() => caller({ pass, now: NOW + 331 })).toThrow(
    expect.objectContaining({ status: 401, message: 'The pass has expired.' }),
  );
});

test('no part of a pass can be changed, left out or made up', () => {
  const pass = signPass(words, [KEY]);
  const [shown = '', mac = ''] = pass.split('.');
  const better = signPass({ ...words, role: 'admin' }, [OTHER]).split('.')[0];
  const forged = [
    `${better}.${mac}`,
    `${shown}.${mac.slice(0, -1)}`,
    `${shown}.`,
    shown,
    `${shown}.${'A'.repeat(43)}`,
    `${pass}.${mac}.${mac}`,
    `gxp_.${mac}`,
    `gxp_${'e'.repeat(10_000)}.${mac}`,
    'gxp_',
  ];
  for (const text of forged) {
    expect([text, verifySignedPass(text, keysOf(KEY))]).toEqual([text, undefined]);
    expect(() => caller({ pass: text })).toThrow(expect.objectContaining({ status: 401 }));
  }
  expect(verifySignedPass(pass, [])).toBeUndefined();
});

test('only the header Authorization brings a pass, and a key beside it wins', () => {
  const pass = signPass(words, [KEY]);
  expect(hasPass({ authorization: `Bearer ${pass}` })).toBe(true);
  expect(hasPass({ 'x-api-key': pass })).toBe(false);
  expect(hasPass({ 'x-api-key': 'gxa_k', authorization: `Bearer ${pass}` })).toBe(false);
  expect(hasPass({ authorization: 'Bearer gxa_k' })).toBe(false);
});

test('a stream that somebody holds open by a pass keeps no deployment awake, and is bounded', () => {
  const callers = new Callers({ streams: 1, runsPerMinute: 0 });
  const from = { source: '192.0.2.1' };
  const looking = openToLook({ authorization: `Bearer ${signPass(words, [KEY])}` }, from);
  const leave = callers.acquireStream(looking);
  expect(callers.areHere).toBe(false);
  expect(() => callers.acquireStream(looking)).toThrow(expect.objectContaining({ status: 429 }));
  const leaveToo = callers.acquireStream(openToLook({}, from));
  expect(callers.areHere).toBe(true);
  expect(callers.open).toBe(2);
  // Some hear twice that an answer is over.
  for (const left of [leaveToo, leaveToo, leave]) left();
  expect([callers.areHere, callers.open]).toEqual([false, 0]);
});
