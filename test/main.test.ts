import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { COMPILE_CACHE } from './kit/compile-cache.ts';

const env = { PATH: process.env.PATH, ...COMPILE_CACHE };

const run = (...args: string[]) => spawnSync('node', ['src/main.ts', ...args], { encoding: 'utf8', env });

test('without a command the help is printed', () => {
  const { status, stdout } = run();
  expect(status).toBe(0);
  expect(stdout).toContain('agent-server');
});

test('an unknown command is named, with the known ones, and exit code 1', () => {
  const { status, stderr } = run('controlplane');
  expect(status).toBe(1);
  expect(stderr).toBe(
    '"controlplane" is not a command; known: control-plane, operator, gateway, console, agent-server, agent-build, import-threads, builder, backup, dev, api-key, uninstall, downgrade-check.\n',
  );
});
