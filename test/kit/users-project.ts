import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const CACHE = join(homedir(), '.cache/gx-platform/projects');

const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  dependencies: Record<string, string>;
};

/** A copy of LangGraph of our version that is not ours, on an older zod. */
export const LANGGRAPH = {
  '@langchain/core': dependencies['@langchain/core']!,
  '@langchain/langgraph': dependencies['@langchain/langgraph']!,
  zod: '4.2.1',
};

/** Returns a folder with these packages, which are installed once on each machine. */
async function installed(packages: Record<string, string>): Promise<string> {
  const manifest = JSON.stringify({ private: true, type: 'module', dependencies: packages });
  const folder = join(CACHE, createHash('sha256').update(manifest).digest('hex').slice(0, 16));
  if (existsSync(folder)) return folder;
  mkdirSync(CACHE, { recursive: true });
  const making = mkdtempSync(`${folder}-`);
  writeFileSync(join(making, 'package.json'), manifest);
  try {
    await run('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: making });
  } catch (error) {
    await rm(making, { recursive: true });
    throw error;
  }
  // Two tests may make it at once. The first one counts.
  if (existsSync(folder)) await rm(making, { recursive: true });
  else renameSync(making, folder);
  return folder;
}

/** A user's project outside of this checkout, with files of a folder here and packages of its own. */
export class UsersProject {
  readonly folder = mkdtempSync(join(tmpdir(), 'gx-project-'));

  static async make(files: string, packages: Record<string, string>): Promise<UsersProject> {
    const project = new UsersProject();
    cpSync(files, project.folder, { recursive: true });
    project.write('package.json', { private: true, type: 'module' });
    await project.replacePackages(packages);
    return project;
  }

  async replacePackages(packages: Record<string, string>): Promise<void> {
    const link = this.path('node_modules');
    await rm(link, { force: true });
    symlinkSync(join(await installed(packages), 'node_modules'), link);
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  write(name: string, content: string | object): void {
    writeFileSync(this.path(name), typeof content === 'string' ? content : JSON.stringify(content));
  }

  async remove(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }
}
