import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import {
  installTools,
  installUv,
  repositoryOf,
  TOOLS,
  type Repository,
} from '../kit/build-stages.ts';
import { startDev, type DevServer } from '../kit/dev-server.ts';
import {
  createThread,
  lookAtGraph,
  runGraph,
  searchGraphs,
  type GraphLook,
  type Run,
} from './ask.ts';
import { planInstall, runCommand, writeFiles } from './install.ts';
import { SHELF, type ShelfProject } from './table.ts';

/* What is done with each project of the shelf, as its author and as somebody who cloned it. */

/** Seconds for an installation, where its packages come over a slow network. */
const INSTALL_SECONDS = 280;

const projectOf = (name: string): ShelfProject => {
  const project = SHELF[name];
  assert.ok(project, `there is no ${name} in the table`);
  return project;
};

/** Makes the repository of a project, with the lock file that its author's tool writes. */
export async function commitProject(name: string): Promise<Repository> {
  const { locks } = projectOf(name);
  const repository = repositoryOf(undefined);
  cpSync(join('test/projects/shelf', name), repository.folder, { recursive: true });
  if (locks !== undefined)
    await runCommand(
      { run: [installUv(), 'lock', '--quiet'], folder: join(repository.folder, locks) },
      INSTALL_SECONDS,
    );
  repository.commit();
  return repository;
}

/** Seconds for a start while other tests run. */
const START_SECONDS = 280;

/** Types are read in more time than by default, because other tests run meanwhile. */
const PATIENCE = { GX_SCHEMA_RESOLVE_TIMEOUT_MS: '120000' };

type Cloned = { root: string; config: string; remove(): Promise<void> };

/** Clones a project, writes what git leaves out, and installs its packages. */
async function installClone(name: string, repository: Repository): Promise<Cloned> {
  const { config, files = {} } = projectOf(name);
  const root = join(mkdtempSync(join(tmpdir(), 'gx-clone-')), name);
  execFileSync('git', ['clone', '--quiet', repository.url, root], { stdio: 'ignore' });
  writeFiles(root, files);
  installTools();
  for (const command of planInstall({ root, config }, { tools: TOOLS, uv: installUv() }))
    await runCommand(command, INSTALL_SECONDS);
  return { root, config, remove: () => rm(dirname(root), { recursive: true, force: true }) };
}

/** Starts `gx dev` in the project's folder. */
const startClone = ({ root, config }: Cloned, env: Record<string, string>): Promise<DevServer> =>
  startDev({
    args: [],
    folder: join(root, dirname(config)),
    env: { ...PATIENCE, ...env },
    seconds: START_SECONDS,
  });

/** What a caller and a reader of the log see of a project. */
export type Sight = {
  /** The words with which a start or a build ended. */
  refusal?: string;
  looks?: { graph: string; faults: string[] }[];
  /** What the runs of each talk ended with. */
  talks?: Run[][];
  warnings?: { unexpected: string[]; missing: string[] };
};

type Served = { url: string; output(): string };

/** Looks at the graphs of a served project, and talks to them. */
export async function seeServed(
  { talks, more, headers = {} }: ShelfProject,
  server: Served,
  warnings: readonly RegExp[] = [],
): Promise<Sight> {
  const looks: GraphLook[] = [];
  for (const graph of await searchGraphs(server.url, headers))
    looks.push(await lookAtGraph(server.url, graph, headers));
  const ends: Run[][] = [];
  for (const { runs, ...wish } of talks) {
    const thread = await createThread(server.url, wish.headers);
    const end: Run[] = [];
    for (const [input] of runs) end.push(await runGraph(server.url, thread, { ...wish, input }));
    ends.push(end);
  }
  await more?.(server.url);
  return {
    looks: looks.map(({ graph, faults }) => ({
      graph,
      faults: Object.entries(faults).map(([of, words]) => `${of}: ${words}`),
    })),
    talks: ends,
    warnings: compareWarnings(server.output(), warnings),
  };
}

/** A machine with other work holds processes, which says nothing of a project. */
const OF_LOAD = /holds the event loop|can not run graphs/;

/** Returns the warnings of a log that nobody expects, and those that are not there. */
function compareWarnings(
  output: string,
  expected: readonly RegExp[],
): { unexpected: string[]; missing: string[] } {
  const warnings = output
    .split('\n')
    .filter((line) => /^\S+ warn |"level":"warn"/.test(line) && !OF_LOAD.test(line));
  return {
    unexpected: warnings.filter((line) => !expected.some((pattern) => pattern.test(line))),
    missing: expected.filter((pattern) => !warnings.some((line) => pattern.test(line))).map(String),
  };
}

/** Clones and installs a project, and looks at what `gx dev` makes of it. */
export async function seeDev(name: string, env: Record<string, string>): Promise<Sight> {
  const project = projectOf(name);
  const cloned = await installClone(name, await commitProject(name));
  try {
    const started = await startClone(cloned, env).catch((error: Error) => ({
      refusal: error.message,
    }));
    if ('refusal' in started) return started;
    try {
      return await seeServed(project, started, project.warnings);
    } finally {
      await started.stop();
    }
  } finally {
    await cloned.remove();
  }
}
