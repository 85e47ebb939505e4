import { execFile } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import type { Form, Row } from './rows.ts';

const run = promisify(execFile);

/** The folder is outside this checkout, so that nothing of our own node_modules is found from it. */
export class Project {
  readonly folder = mkdtempSync(join(tmpdir(), 'gx-matrix-'));

  write(name: string, content: string | object): void {
    writeFileSync(
      join(this.folder, name),
      typeof content === 'string' ? content : JSON.stringify(content),
    );
  }

  copy(file: string): void {
    copyFileSync(file, join(this.folder, basename(file)));
  }

  /** npm keeps what it downloaded in its own cache. */
  async install(dependencies: Record<string, string>, type: 'module' | 'commonjs'): Promise<void> {
    this.write('package.json', { private: true, type, dependencies });
    await this.run('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error']);
  }

  versionOf(name: string): string {
    const file = join(this.folder, 'node_modules', name, 'package.json');
    const { version } = JSON.parse(readFileSync(file, 'utf8')) as { version: string };
    return version.replace(/^v/, '');
  }

  /** Returns what the command printed. */
  async run(command: string, args: string[]): Promise<string> {
    return (await run(command, args, { cwd: this.folder })).stdout;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }
}

/** The same graph in each form. */
export function graphIn(form: Form): string {
  const source = readFileSync('test/matrix/project/graph.js', 'utf8');
  if (form !== 'commonjs.js') return source;
  return source
    .replaceAll(/^import (\{.*\}) from ('.*');$/gm, 'const $1 = require($2);')
    .replace('export const graph', 'exports.graph');
}

/** Installs what the row names, and a Node of its own. */
export async function install(
  project: Project,
  { langgraph, core, zod, form, node }: Row,
): Promise<void> {
  const packages = { '@langchain/langgraph': langgraph, '@langchain/core': core, zod };
  await project.install(
    { ...packages, node: `npm:node-${process.platform}-${process.arch}@${node}` },
    typeOf(form),
  );
  const file = form.replace(/^.*\./, 'graph.');
  project.write(file, graphIn(form));
  project.write('gx.json', { graphs: { talk: `./${file}:graph` } });
}

/** The agents of test/matrix/agents, with their packages. */
export async function installAgents(
  project: Project,
  packages: Record<string, string>,
): Promise<void> {
  await project.install(packages, 'module');
  for (const file of ['graphs.js', 'scripted-model.js', 'gx.json'])
    project.copy(`test/matrix/agents/${file}`);
}

const typeOf = (form: Form): 'module' | 'commonjs' =>
  form.startsWith('module') ? 'module' : 'commonjs';
