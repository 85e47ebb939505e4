import { execFile } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import process from 'node:process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Bill } from '../../../../src/agent/sbom/bill.ts';
import { LANGGRAPH, UsersProject } from '../../../kit/users-project.ts';

/* The command that runs when an agent's image is built, in a project that npm itself installed. */

let project: UsersProject;
beforeAll(async () => {
  project = await UsersProject.make('test/agent/graph-types/graphs', LANGGRAPH);
  mkdirSync(project.path('bin'));
  project.write('bin/dpkg-query', '#!/bin/sh\necho "libc6 2.41-12 amd64"\n');
  chmodSync(project.path('bin/dpkg-query'), 0o755);
});
afterAll(() => project.remove());

async function build(folder: string, found = process.env['PATH']): Promise<string> {
  const env = {
    PATH: found,
    GX_CONFIG: project.path('gx.json'),
    GX_BUILD_FOLDER: project.path(folder),
    GX_SCHEMA_RESOLVE_TIMEOUT_MS: '0',
  };
  const { stdout } = await promisify(execFile)(process.execPath, ['src/main.ts', 'agent-build'], {
    env,
  });
  return stdout;
}

const billIn = (folder: string, of: string): Bill =>
  JSON.parse(readFileSync(project.path(`${folder}/sbom/${of}.cdx.json`), 'utf8')) as Bill;

test('the build leaves bills of what npm and Debian have installed, also where package.json has no version', async () => {
  project.write('package.json', { private: true });
  await build('one', `${project.path('bin')}:${process.env['PATH']}`);
  const { bomFormat, components } = billIn('one', 'npm');
  expect(bomFormat).toBe('CycloneDX');
  const { version } = JSON.parse(
    readFileSync(project.path('node_modules/@langchain/langgraph/package.json'), 'utf8'),
  ) as {
    version: string;
  };
  expect(components).toContainEqual(
    expect.objectContaining({
      name: '@langchain/langgraph',
      version,
      purl: `pkg:npm/%40langchain/langgraph@${version}`,
    }),
  );
  expect(billIn('one', 'debian').components.map(({ name }) => name)).toEqual(['libc6']);
});

test('where there is no Debian and no package.json, no bill is written and nothing is said', async () => {
  rmSync(project.path('package.json'));
  const said = await build('two', project.path('none'));
  expect(existsSync(project.path('two/sbom'))).toBe(false);
  expect(said).not.toContain('bill of materials');
});

test('where another tool installed the packages, the log says that their bill is missing', async () => {
  project.write('package.json', { private: true });
  rmSync(project.path('node_modules'));
  mkdirSync(project.path('node_modules'));
  const said = await build('three', project.path('none'));
  expect(said).toContain('npm did not install the packages');
  expect(existsSync(project.path('three/sbom'))).toBe(false);
});
