import { mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { createSigningKeys } from '../../../src/agent/auth/signing-keys.ts';
import { readAgentConfig } from '../../../src/config/agent/agent.ts';
import { CURRENT_KEY, PREVIOUS_KEY } from '../../../src/schema/wire/agent-key.ts';
import { silentLog } from '../../kit/log.ts';

/* What clients carry between requests is signed with keys that follow the key of the deployment. */

const folder = mkdtempSync(join(tmpdir(), 'gx-signing-'));
afterAll(() => rm(folder, { recursive: true }));

const keysOf = (env: Record<string, string>): ReturnType<typeof createSigningKeys> =>
  createSigningKeys(readAgentConfig({ DATABASE_URI: 'postgresql://one', ...env }), silentLog());
const told = (keys: Uint8Array[]): string[] => keys.map((key) => Buffer.from(key).toString('hex'));

test('all processes of a deployment have the same key, each use another one, and other deployments others', () => {
  const one = keysOf({ GX_AGENT_KEY: 'a key of sixteen' });
  expect(told(one.of('mcp'))).toEqual(told(keysOf({ GX_AGENT_KEY: 'a key of sixteen' }).of('mcp')));
  const others = [
    one.of('a2a'),
    keysOf({ GX_AGENT_KEY: 'another key of it' }).of('mcp'),
    keysOf({}).of('mcp'),
  ];
  for (const keys of others) expect(told(keys)).not.toEqual(told(one.of('mcp')));
});

test('a deployment without a key has one of its database', () => {
  expect(told(keysOf({}).of('mcp'))).toEqual(told(keysOf({}).of('mcp')));
  expect(told(keysOf({ DATABASE_URI: 'postgresql://two' }).of('mcp'))).not.toEqual(
    told(keysOf({}).of('mcp')),
  );
});

test('while the key changes, what the former one signed is accepted', async () => {
  writeFileSync(join(folder, CURRENT_KEY), 'the first key here');
  const keys = keysOf({ GX_AGENT_KEY_FOLDER: folder });
  const [first] = told(keys.of('mcp'));
  writeFileSync(join(folder, PREVIOUS_KEY), 'the first key here');
  writeFileSync(join(folder, CURRENT_KEY), 'the second key here');
  await expect.poll(() => told(keys.of('mcp'))[1]).toBe(first);
});
