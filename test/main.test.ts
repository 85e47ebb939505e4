import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { STAGES } from '../src/schema/wire/build-message.ts';
import { COMPILE_CACHE } from './kit/compile-cache.ts';

const env = { PATH: process.env.PATH, ...COMPILE_CACHE };

const run = (...args: string[]) =>
  spawnSync('node', ['src/main.ts', ...args], { encoding: 'utf8', env });

test('without a command the help is printed', () => {
  const { status, stdout } = run();
  expect(status).toBe(0);
  expect(stdout).toContain('agent-server');
});

test('an unknown command is named, with the known ones, and exit code 1', () => {
  const { status, stderr } = run('controlplane');
  expect(status).toBe(1);
  expect(stderr).toBe(
    '"controlplane" is not a command; known: control-plane, operator, gateway, console, agent-server, agent-build, import-threads, reprice-usage, builder, backup, dev, api-key, uninstall, downgrade-check. Did you mean "control-plane"?\n',
  );
});

/** Runs several commands one after the other in one process, because loading their modules takes most of the time. */
const IN_ONE = `
process.setMaxListeners(0);
const [, ...commands] = process.argv;
for (const [index, command] of commands.entries()) {
  process.argv = ['node', 'main.ts', ...command.split(' ')];
  process.exitCode = 0;
  process.stdout.write('\\n=== ' + command + '\\n');
  await import(process.cwd() + '/src/main.ts?' + index);
  process.stdout.write('=== ' + process.exitCode + '\\n');
}`;

test('every command and every stage explains itself, on a machine where nothing is set', () => {
  const names = [...run().stdout.matchAll(/^ {2}([a-z][a-z-]+) {1,}\S/gm)].map(([, name]) => name!);
  const below = {
    builder: [...STAGES, 'local'],
    'api-key': ['create', 'list', 'revoke'],
    backup: ['restore', 'check', 'verify'],
  };
  const commands = [
    ...names,
    ...Object.entries(below).flatMap(([name, stages]) => stages.map((stage) => `${name} ${stage}`)),
  ];
  expect(commands.length).toBeGreaterThan(20);
  const { stdout, stderr } = spawnSync(
    'node',
    [
      '--input-type=module',
      '--eval',
      IN_ONE,
      '--',
      ...commands.map((command) => `${command} --help`),
    ],
    { encoding: 'utf8', env: { ...env, HOME: '/nowhere' } },
  );
  const faults = commands.filter(
    (command) => !new RegExp(`^=== ${command} --help\n[\\s\\S]{80,}?^=== 0$`, 'm').test(stdout),
  );
  expect({ faults, stderr }).toEqual({ faults: [], stderr: '' });
}, 60_000);
