import { resolve } from 'node:path';
import process from 'node:process';
import { Project } from './project.ts';

const SCRIPTS = resolve('test/matrix/clients');

/** The official npm client of one version, against the server at `url`. */
export async function playNpmClient(version: string, url: string): Promise<void> {
  await using project = new Project();
  await project.install({ '@langchain/langgraph-sdk': version }, 'module');
  project.copy(resolve(SCRIPTS, 'script.mjs'));
  await project.run(process.execPath, ['script.mjs', url]);
}

/** The official Python client of one version, against the server at `url`. */
export async function playPythonClient(version: string, url: string): Promise<void> {
  await using project = new Project();
  await project.run('python3', ['-m', 'venv', 'venv']);
  await project.run('venv/bin/pip', ['install', '--quiet', '--disable-pip-version-check', `langgraph-sdk==${version}`]);
  await project.run('venv/bin/python', [resolve(SCRIPTS, 'script.py'), url]);
}
