import { existsSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import type { ImageBuildConfig } from '../../config/jobs/image-build.ts';
import { StageFailed } from '../../errors.ts';
import type { StageReason } from '../../schema/wire/build-message.ts';
import { runProgram } from '../command.ts';
import { getWorkPaths } from '../work.ts';
import { buildManagerEnvironment, type Manager } from './managers.ts';

/** One command of a build, in a folder of this machine. */
export type BuildTask = {
  run: readonly [string, ...string[]] | string;
  folder: string;
  prefix: string;
  reason: StageReason;
  what: string;
  /** Returns the part of a line that is printed. */
  show?: (line: string) => string;
};

/** Where commands of the repository's author run: with an environment that holds nothing of this process. */
export type Workbench = {
  env: Record<string, string>;
  /** Runs a command. Throws its reason with the last lines if it fails. */
  task(task: BuildTask, env?: Record<string, string>): Promise<void>;
  /** Runs a command, and returns whether it succeeded. */
  attempt(task: BuildTask): Promise<boolean>;
};

/** Returns a workbench with these package managers, which are installed if the image has not got them. */
export async function createWorkbench(
  config: ImageBuildConfig,
  managers: readonly Manager[],
  {
    signal,
    shown = (line) => line,
  }: {
    signal: AbortSignal;
    /** Returns a line of any command as it is printed. */
    shown?: (line: string) => string;
  },
): Promise<Workbench> {
  const { home, tools } = getWorkPaths(config.work);
  mkdirSync(home, { recursive: true });
  const system = [
    path.dirname(process.execPath),
    '/usr/local/sbin',
    '/usr/local/bin',
    '/usr/sbin',
    '/usr/bin',
    '/sbin',
    '/bin',
  ];
  const env: Record<string, string> = {
    // The image has uv beside its other programs. Elsewhere it is a tool of this folder.
    PATH: [...[path.join(config.tools, 'uv', 'bin')].filter(existsSync), ...system].join(':'),
    HOME: home,
    LANG: 'C.UTF-8',
    CI: 'true',
    ...config.network,
    ...(config.nodeHeaders === undefined ? {} : { npm_config_nodedir: config.nodeHeaders }),
    ...buildManagerEnvironment(config.work, config.npmRegistry),
  };
  const run = async (
    { run: command, folder, prefix, show }: BuildTask,
    more: Record<string, string> = {},
  ) =>
    runProgram({
      run: command,
      folder,
      prefix,
      env: { ...env, ...more },
      signal,
      show: (line) => shown(show?.(line) ?? line),
    }).finally(endAllOthers);
  const bench: Workbench = {
    env,
    async task(task, more) {
      const { code, last } = await run(task, more);
      if (code !== 0) throw new StageFailed(task.reason, describeFailure(task, code, last));
    },
    attempt: async (task) => (await run(task)).code === 0,
  };
  for (const { tool } of managers) {
    if (tool === undefined) continue;
    const there = await ensureTool(tool, [config.tools, tools], bench);
    env['PATH'] = `${there}:${env['PATH']}`;
  }
  return bench;
}

/**
 * Ends the processes that a command has left running, whichever group or session it moved to. Only the first process of
 * a container may: all others there are of the commands that it ran.
 */
function endAllOthers(): void {
  if (process.pid !== 1) return;
  try {
    process.kill(-1, 'SIGKILL');
  } catch {
    // Nobody else is left.
  }
}

/** Returns the folder of a tool's programs. */
async function ensureTool(
  tool: string,
  places: readonly string[],
  bench: Workbench,
): Promise<string> {
  const getProgramsPath = (place: string): string => path.join(place, tool, 'node_modules', '.bin');
  const found = places.find((place) => existsSync(getProgramsPath(place)));
  if (found !== undefined) return getProgramsPath(found);
  const prefix = path.join(places.at(-1)!, tool);
  mkdirSync(prefix, { recursive: true });
  const run = ['npm', 'install', '--prefix', prefix, '--no-save', tool] as const;
  await bench.task({
    run,
    folder: prefix,
    prefix: 'tool',
    reason: 'InstallFailed',
    what: `installing ${tool}`,
  });
  return getProgramsPath(places.at(-1)!);
}

const KILLED = 137;

function describeFailure({ what }: BuildTask, code: number, last: string): string {
  const how =
    code === KILLED ? 'was killed, probably because memory ran out' : `ended with code ${code}`;
  return `${what} ${how}. Its last lines: ${trimToEnd(last)}`;
}

/** A revision shows 1000 characters. The end of an output says why a command failed, so its beginning is left out. */
const SHOWN = 750;

function trimToEnd(lines: string): string {
  if (lines.length <= SHOWN) return lines;
  const end = lines.slice(-SHOWN);
  const line = end.indexOf('\n');
  return line === -1 || line > SHOWN / 2 ? `... ${end}` : end.slice(line + 1);
}
