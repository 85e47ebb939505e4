import { cpSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { writeRecipe } from '../../../src/builder/buildkit/recipe.ts';
import {
  formatDaemonSettings,
  buildSolveFailure,
  hasOwnUsers,
} from '../../../src/builder/buildkit/output.ts';
import { runBuilder } from '../../../src/builder/run.ts';
import { readImageBuildConfig } from '../../../src/config/jobs/image-build.ts';

/* The Dockerfile that a gx.json asks for, and what BuildKit says. */

type Given = {
  json?: object;
  env?: Record<string, string>;
  files?: Record<string, string>;
  link?: string;
};

function recipeFor({ json = {}, env = {}, files = {}, link }: Given): string | undefined {
  const work = mkdtempSync(join(tmpdir(), 'gx-recipe-'));
  const source = join(work, 'source');
  cpSync('test/builder/fixtures/small', source, { recursive: true });
  writeFileSync(
    join(source, 'gx.json'),
    JSON.stringify({ graphs: { agent: './graph.js:graph' }, ...json }),
  );
  for (const [name, text] of Object.entries(files)) writeFileSync(join(source, name), text);
  if (link !== undefined) symlinkSync('/etc/hostname', join(source, link));
  const config = readImageBuildConfig({
    GX_BASE_IMAGE: 'registry.example.com/gx/gx-agent-server:1',
    GX_WORK_FOLDER: work,
    ...env,
  });
  const file = writeRecipe(config, 'gx-agent-server');
  return file === undefined ? undefined : readFileSync(file, 'utf8');
}

test('a plain gx.json needs no Dockerfile', () => {
  expect(recipeFor({})).toBeUndefined();
  expect(
    recipeFor({ json: { base_image: 'registry.example.com/gx/gx-agent-server:2' } }),
  ).toBeUndefined();
});

test("lines stand on the platform's image and below the agent, which is installed and built as the agents' user", () => {
  const lines = recipeFor({
    json: { dockerfile_lines: ['RUN apt-get update', 'ENV A=1'] },
    env: {
      GX_INSTALL_COMMAND: "npm ci --tag 'x'",
      GX_NPM_REGISTRY: 'https://npm.example.com',
      NODE_EXTRA_CA_CERTS: '/gx/ca/ca.crt',
    },
  })!.split('\n');
  const at = (text: string): number => lines.findIndex((line) => line.includes(text));
  expect(lines.slice(0, 5)).toEqual([
    'FROM gx-agent-server AS gx-lines',
    'USER 0:0',
    'WORKDIR /agent',
    'RUN apt-get update',
    'ENV A=1',
  ]);
  const run = lines[at('builder inside')]!;
  expect(run).toContain(String.raw`GX_INSTALL_COMMAND='npm ci --tag '\''x'\'''`);
  expect(run).toContain(
    "GX_NPM_REGISTRY='https://npm.example.com' NODE_EXTRA_CA_CERTS='/run/gx-authorities.crt'",
  );
  expect(lines[at('builder inside') - 2]).toBe('USER 10001:10001');
  expect(lines.slice(-4)).toEqual([
    'ENV GX_CONFIG="/agent/gx.json" GX_BUILD_FOLDER="/agent/.gx-build"',
    'WORKDIR "/agent"',
    'USER 10001:10001',
    '',
  ]);
});

test("another base image takes the place of the platform's", () => {
  expect(recipeFor({ json: { base_image: 'example.com/mine:1' } })).toMatch(
    /^FROM example\.com\/mine:1 AS gx-lines\n/,
  );
});

test('a Dockerfile of the repository is taken as it is', () => {
  expect(
    recipeFor({
      json: { dockerfile: './own.Dockerfile' },
      files: { 'own.Dockerfile': 'FROM x\n' },
    }),
  ).toBe('FROM x\n');
});

test.each<[string, Given, string]>([
  [
    'a Dockerfile that is not there',
    { json: { dockerfile: 'no' } },
    'which the repository does not have',
  ],
  [
    'a link out of the repository',
    { json: { dockerfile: 'out' }, link: 'out' },
    'which the repository does not have',
  ],
  [
    'a Dockerfile outside',
    { json: { dockerfile: '../../../etc/hostname' } },
    'which the repository does not have',
  ],
  [
    'a Dockerfile beside lines',
    { json: { dockerfile: 'x', dockerfile_lines: ['RUN y'] } },
    'remove "dockerfile_lines"',
  ],
  [
    'a Dockerfile beside a base image',
    { json: { dockerfile: 'x', base_image: 'y' } },
    'remove "base_image"',
  ],
  ['lines with a stage', { json: { dockerfile_lines: ['from x'] } }, 'use "dockerfile"'],
  [
    'a base image that is no name',
    { json: { base_image: 'a b\nRUN c' } },
    'is not the name of an image',
  ],
])('%s is refused', (_what, given, words) => {
  expect(() => recipeFor(given)).toThrow(words);
});

test('a pod that has BuildKit refuses a commit whose gx.json asks for no Dockerfile', async () => {
  const work = mkdtempSync(join(tmpdir(), 'gx-recipe-'));
  cpSync('test/builder/fixtures/small', join(work, 'source'), { recursive: true });
  const terminationLog = join(work, 'told.json');
  const env = {
    GX_BUILDKIT: 'true',
    GX_BASE_IMAGE: 'registry.invalid/base:1',
    GX_WORK_FOLDER: work,
    GX_TERMINATION_LOG: terminationLog,
  };
  await runBuilder(['restore'], readImageBuildConfig(env), new AbortController().signal);
  process.exitCode = undefined;
  expect(JSON.parse(readFileSync(terminationLog, 'utf8'))).toMatchObject({
    reason: 'BuildFailed',
    message: expect.stringContaining('asks for no Dockerfile') as string,
  });
});

test('only a pod with users of its own runs BuildKit', () => {
  expect(hasOwnUsers('         0 1257046016      65536\n')).toBe(true);
  expect(hasOwnUsers('         0          0 4294967295\n')).toBe(false);
});

test('a registry without TLS is named to BuildKit', () => {
  expect(formatDaemonSettings(['registry.local:5000'])).toContain(
    '[registry."registry.local:5000"]\n  http = true',
  );
  expect(formatDaemonSettings([])).not.toContain('registry');
});

test.each([
  [
    '#9 1.2 InstallFailed: "npm ci" ended with code 1. Its last lines: x\nERROR: exit code: 1',
    'InstallFailed',
    '"npm ci" ended',
  ],
  [
    'ERROR: process "/bin/sh -c x" did not complete successfully: exit code: 137',
    'BuildFailed',
    'was killed',
  ],
  ['ERROR: example.com/x: not found', 'BuildFailed', 'example.com/x: not found'],
])('%s is told as it is', (output, reason, words) => {
  const { reason: told, message } = buildSolveFailure({ output, last: output });
  expect({ told, message }).toEqual({ told: reason, message: expect.stringContaining(words) });
});
