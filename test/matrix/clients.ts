import { resolve } from 'node:path';
import process from 'node:process';
import { Project } from './project.ts';
import type { Adapter } from './rows.ts';

const SCRIPTS = resolve('test/matrix/clients');

/** The official npm client of one version, against the server at `url`. */
export const playNpmClient = (version: string, url: string): Promise<void> =>
  playScript('script.mjs', { '@langchain/langgraph-sdk': version }, url);

/** A third party's library, against the server at `url`. */
export const playAdapter = ({ script, packages }: Adapter, url: string): Promise<void> =>
  playScript(script, packages, url);

async function playScript(
  script: string,
  packages: Record<string, string>,
  url: string,
): Promise<void> {
  await using project = new Project();
  await project.install(packages, 'module');
  project.copy(resolve(SCRIPTS, script));
  await project.run(process.execPath, [script, url]);
}

/** The official Python client of one version, against the server at `url`. */
export async function playPythonClient(version: string, url: string): Promise<void> {
  await using project = new Project();
  await project.run('python3', ['-m', 'venv', 'venv']);
  await project.run('venv/bin/pip', [
    'install',
    '--quiet',
    '--disable-pip-version-check',
    `langgraph-sdk==${version}`,
  ]);
  await project.run('venv/bin/python', [resolve(SCRIPTS, 'script.py'), url]);
}
