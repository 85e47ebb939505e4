import { execFile, spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rename, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { locked } from './lock.ts';
import { folderOf, isCached, keyOf, partsFolder } from './part-cache.ts';
import type { Part, Program } from './part-list.ts';
import { seconds, type Report } from './report.ts';

const run = promisify(execFile);
const progressEvery = 10_000;

/** Compiles the part into the cache; another process that builds is waited for. */
export async function build(part: Part, report: Report): Promise<void> {
  await requireGo(part);
  const onWait = () => report(`${part.name}: waiting for another process that builds`);
  await locked('parts', onWait, async () => {
    if (!isCached(part)) await buildAlone(part, report);
  });
}

async function buildAlone(part: Part, report: Report): Promise<void> {
  await mkdir(partsFolder(), { recursive: true });
  const unfinished = await mkdtemp(join(partsFolder(), `.${keyOf(part)}-`));
  const started = Date.now();
  report(`${part.name} ${part.version}: building from source`);
  const ticker = setInterval(() => report(`${part.name}: building, ${seconds(started)}`), progressEvery);
  try {
    for (const program of part.programs) await compile(part, program, unfinished);
    await rename(unfinished, folderOf(part));
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    throw error;
  } finally {
    clearInterval(ticker);
  }
  report(`${part.name} ${part.version}: built in ${seconds(started)}`);
}

async function compile(part: Part, program: Program, into: string): Promise<void> {
  const output = join(into, program.file);
  const args = ['build', '-trimpath', '-buildvcs=false', ...part.flags, '-o', output, program.package];
  await go(args, part.module);
  for (const link of program.links) await symlink(program.file, join(into, link));
}

function go(args: string[], cwd: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn('go', args, { cwd, env: goEnvironment(), stdio: ['ignore', 'ignore', 'pipe'] });
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => (said = (said + chunk.toString()).slice(-4000)));
    child.on('error', reject);
    child.on('close', (code) => (code === 0 ? resolve() : reject(new Error(`go ${args.at(-1)} failed:\n${said.trim()}`))));
  });
}

const goEnvironment = () => ({ ...process.env, CGO_ENABLED: '0', GOTOOLCHAIN: 'local', GOWORK: 'off' });

async function requireGo(part: Part): Promise<void> {
  const needed = /^go (\S+)/m.exec(await readFile(join(part.module, 'go.mod'), 'utf8'))?.[1] ?? '1';
  const found = await run('go', ['env', 'GOVERSION'], { env: goEnvironment() }).then(
    ({ stdout }) => stdout.trim().replace(/^go/, ''),
    () => undefined,
  );
  if (found !== undefined && isAtLeast(found, needed)) return;
  throw new Error(
    `Building ${part.name} needs the Go toolchain, version ${needed} or newer, on PATH` +
      ` (${found === undefined ? 'there is none' : `found ${found}`}).`,
  );
}

function isAtLeast(found: string, needed: string): boolean {
  const [a, b] = [found, needed].map((version) => version.split('.').map((field) => parseInt(field, 10)));
  for (const at of [0, 1, 2]) {
    const difference = (a?.[at] ?? 0) - (b?.[at] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return true;
}
