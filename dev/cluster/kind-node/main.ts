import { existsSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { MissingRequirement, Unhealthy } from '../../errors.ts';
import { ENV_FILE } from '../../run/env-file.ts';
import { runMain, printLine, formatSecondsSince, step } from '../../steps.ts';
import { installMissing } from '../debian.ts';
import { ensureTools } from '../parts.ts';
import { findDebianDocker, runWithEngine, type DockerEngine } from './engine.ts';
import { makeImages, NODE_IMAGE } from './images.ts';

const HELP = `make test-kind: make run, the quick start and the system tests on kind, with an engine of Debian's package.

Needs root on Debian. The engine has a socket, a network and a folder of its own, and is removed afterwards.
`;

/** Holds the env file of a "make run" of this checkout while kind has its own. */
const KEPT = `${ENV_FILE}.kept`;

async function main(): Promise<void> {
  if (process.argv.includes('--help')) return printLine(HELP);
  if (process.platform !== 'linux' || process.getuid?.() !== 0)
    throw new MissingRequirement('This needs root on Linux.');
  const started = performance.now();
  const tools = await step('programs', async (report) => {
    const docker = { kind: 'debian', package: 'docker.io', commands: ['dockerd'] } as const;
    await installMissing(
      [docker, { kind: 'debian', package: 'debootstrap', commands: ['debootstrap'] }],
      report,
    );
    await ensureTools(['kind'], report);
    return findDebianDocker();
  });
  if (tools === undefined) throw new MissingRequirement("Docker is not Debian's docker.io here.");
  if (existsSync(ENV_FILE)) renameSync(ENV_FILE, KEPT);
  try {
    await runWithEngine(tools, prove);
  } finally {
    rmSync(ENV_FILE, { force: true });
    if (existsSync(KEPT)) renameSync(KEPT, ENV_FILE);
  }
  printLine(`\nAll of it works on kind (${formatSecondsSince(started)}).`);
}

async function prove(engine: DockerEngine): Promise<void> {
  const version = await engine.run('docker', ['version', '--format', '{{.Server.Version}}']);
  await step(`images for Docker ${version.trim()}`, (report) => makeImages(engine, report));
  const policies = engine.watch(process.execPath, [
    join(import.meta.dirname, 'policies.ts'),
    engine.folder,
  ]);
  const onKind = { GX_KIND_IMAGE: NODE_IMAGE };
  try {
    await step('make run', () => engine.show(process.execPath, ['dev/run/main.ts'], onKind));
    await step('make run again', () => engine.show(process.execPath, ['dev/run/main.ts'], onKind));
    await step('quick start', () => runQuickStart(engine));
    await step('make down', () => engine.show(process.execPath, ['dev/run/down.ts'], onKind));
    await step('system tests', () =>
      engine.show(process.execPath, ['dev/test/main.ts', 'system'], onKind),
    );
    await step('nothing is left', () => checkNothingLeft(engine));
  } finally {
    policies.stop();
  }
}

/** Runs the commands of the page's first part as they stand there, but for `make run`, and wants answers of agents. */
async function runQuickStart(engine: DockerEngine): Promise<void> {
  const page = readFileSync('docs/quick-start.md', 'utf8').split('## On any cluster')[0] ?? '';
  const blocks = [...page.matchAll(/^```sh\n(.*?)^```/gms)].map(([, lines = '']) =>
    lines.replace(/^make run\n/, ''),
  );
  for (const block of blocks) {
    const answer = await engine.run('bash', ['-euo', 'pipefail', '-c', block]);
    printLine(answer.trim());
    if (!answer.includes('"messages"'))
      throw new Unhealthy(`No agent answered:\n${block}\n${answer}`);
  }
}

async function checkNothingLeft(engine: DockerEngine): Promise<void> {
  const containers = (await engine.run('docker', ['ps', '--all', '--format', '{{.Names}}'])).trim();
  if (containers !== '') throw new Unhealthy(`These containers are left: ${containers}`);
}

await runMain(main);
