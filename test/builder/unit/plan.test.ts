import { cpSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { buildPlanOf, type BuildPlan } from '../../../src/builder/packages/plan.ts';
import { readImageBuildConfig } from '../../../src/config/jobs/image-build.ts';
import { toError, StageFailed } from '../../../src/errors.ts';

/* What is decided from the files of a repository, before anything of it runs. */

type Given = {
  fixture?: string;
  files?: Record<string, string>;
  env?: Record<string, string>;
  links?: Record<string, string>;
};

function planned({ fixture = 'small', files = {}, env = {}, links = {} }: Given): BuildPlan {
  const work = mkdtempSync(join(tmpdir(), 'gx-plan-'));
  const source = join(work, 'source');
  cpSync(`test/builder/fixtures/${fixture}`, source, { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(source, name), text);
  for (const [name, target] of Object.entries(links)) symlinkSync(target, join(source, name));
  const base = { GX_BASE_IMAGE: 'registry.example.com/gx/gx-agent-server:1', GX_WORK_FOLDER: work };
  return buildPlanOf(readImageBuildConfig({ ...base, ...env }), 'sha256:base').plan;
}

const gxJson = (more: object = {}): string =>
  JSON.stringify({ graphs: { agent: './graph.js:graph' }, ...more });

test.each<[string, Given, Partial<BuildPlan>]>([
  [
    'a folder of a workspace',
    { fixture: 'pnpm-workspace', env: { GX_CONFIG_PATH: './apps/agent/gx.json' } },
    { folder: 'apps/agent' },
  ],
  ['a langgraph.json in place of gx.json', { fixture: 'yarn' }, { configFile: 'langgraph.json' }],
  [
    'our own base image',
    { files: { 'gx.json': gxJson({ base_image: 'registry.example.com/gx/gx-agent-server:2' }) } },
    { folder: '' },
  ],
  ['an older Node', { files: { 'gx.json': gxJson({ node_version: '20' }) } }, { folder: '' }],
  [
    'no dockerfile_lines',
    { files: { 'gx.json': gxJson({ dockerfile_lines: [] }) } },
    { folder: '' },
  ],
  [
    'keys that only other builders know',
    { files: { 'gx.json': gxJson({ image_distro: 'wolfi', dependencies: ['.', 'x'] }) } },
    { folder: '' },
  ],
])('%s can be built', (_what, given, plan) => {
  expect(planned(given)).toMatchObject(plan);
});

test.each<[string, Given, string, string]>([
  [
    'no gx.json',
    { env: { GX_CONFIG_PATH: 'apps/gx.json' } },
    'ConfigMissing',
    'set gx_config_path',
  ],
  [
    'a gx.json outside',
    { env: { GX_CONFIG_PATH: '../../gx.json' } },
    'ConfigMissing',
    'points outside the repository',
  ],
  [
    'a link to one outside',
    { links: { 'x.json': '/etc/hostname' }, env: { GX_CONFIG_PATH: 'x.json' } },
    'ConfigMissing',
    'points outside',
  ],
  [
    'a gx.json that is not JSON',
    { files: { 'gx.json': '{' } },
    'BuildFailed',
    'gx.json is not valid JSON',
  ],
  [
    'a key that does not exist',
    { files: { 'gx.json': gxJson({ grafs: 1 }) } },
    'BuildFailed',
    '"grafs"',
  ],
  [
    'dockerfile_lines',
    { files: { 'gx.json': gxJson({ dockerfile_lines: ['RUN x'] }) } },
    'NeedsDockerfile',
    '"dockerfile_lines" of gx.json',
  ],
  [
    'another base_image',
    { files: { 'gx.json': gxJson({ base_image: 'example.com/x' }) } },
    'NeedsDockerfile',
    '"base_image" of gx.json',
  ],
  [
    'a Dockerfile',
    { files: { 'gx.json': gxJson({ dockerfile: './Dockerfile' }) } },
    'NeedsDockerfile',
    '"dockerfile" of gx.json',
  ],
  [
    'a newer Node',
    { files: { 'gx.json': gxJson({ node_version: '99' }) } },
    'BuildFailed',
    '"node_version" of gx.json',
  ],
  [
    'no version of Node',
    { files: { 'gx.json': gxJson({ node_version: 'new' }) } },
    'BuildFailed',
    'is not a version of Node',
  ],
  [
    'auth in Python',
    { files: { 'gx.json': gxJson({ auth: { path: './auth.py:auth' } }) } },
    'BuildFailed',
    '"auth.path" of gx.json is in Python',
  ],
  [
    'a folder that is not there',
    { files: { 'gx.json': gxJson({ dependencies: ['./lib'] }) } },
    'BuildFailed',
    './lib',
  ],
  [
    'a folder outside',
    { files: { 'gx.json': gxJson({ dependencies: ['../..'] }) } },
    'BuildFailed',
    '../..',
  ],
  [
    'a package.json that is not JSON',
    { files: { 'package.json': '{' } },
    'InstallFailed',
    'package.json is not valid JSON',
  ],
])('%s ends the build with a reason', (_what, given, reason, words) => {
  let thrown: Error | undefined;
  try {
    planned(given);
  } catch (error) {
    thrown = toError(error);
  }
  expect(thrown).toBeInstanceOf(StageFailed);
  expect({ reason: (thrown as StageFailed).reason, message: thrown!.message }).toEqual({
    reason,
    message: expect.stringContaining(words),
  });
});
