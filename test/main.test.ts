import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';

const run = (...args: string[]) => spawnSync('node', ['src/main.ts', ...args], { encoding: 'utf8', env: { PATH: process.env.PATH } });

test('without a command the help is printed', () => {
  const { status, stdout } = run();
  expect(status).toBe(0);
  expect(stdout).toContain('agent-server');
});

test('an unknown command is named, with the known ones, and exit code 1', () => {
  const { status, stderr } = run('controlplane');
  expect(status).toBe(1);
  expect(stderr).toBe(
    '"controlplane" is not a command; known: control-plane, operator, gateway, agent-server, agent-build, builder, dev, api-key.\n',
  );
});
