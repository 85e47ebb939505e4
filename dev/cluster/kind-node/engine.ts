import { spawn } from 'node:child_process';
import { openSync } from 'node:fs';
import { cp, mkdir, symlink } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { runProcess } from '../../commands.ts';
import { readDevConfig, extendEnvironment } from '../../env.ts';
import { CommandFailed, Unhealthy } from '../../errors.ts';
import { isExecutable, searchPath } from '../../executable.ts';
import { waitUntil } from '../../wait.ts';
import { makeCgroup } from '../native/cgroups.ts';
import { chooseLayout, connectNode } from '../native/host.ts';
import { listChildProcesses, readProcessMark, writeRecord } from '../native/record.ts';
import { stopNode } from '../native/stop.ts';

/*
 * A Docker engine in namespaces of its own, so that this machine keeps its network and its default socket. A program
 * that talks to its containers runs in these, too. It is recorded as a native node is, and removed the same way.
 */

const NAME = 'gx-docker';

export type DockerEngine = {
  folder: string;
  /** Runs a program among the engine's containers and returns its output. Throws `CommandFailed`. */
  run(file: string, args: readonly string[], input?: string): Promise<string>;
  /** Runs a program there whose output is shown. Throws `CommandFailed` if it fails. */
  show(file: string, args: readonly string[], environment?: Record<string, string>): Promise<void>;
  /** Starts a program there that goes on beside others, with a log in the engine's folder. */
  watch(file: string, args: readonly string[]): { stop(): void };
};

type Tools = { dockerd: string; docker: string };

/** Starts the engine with these programs and calls `work`. Nothing is left of it afterwards. */
export async function runWithEngine(
  tools: Tools,
  work: (engine: DockerEngine) => Promise<void>,
): Promise<void> {
  await stopEngine();
  try {
    await work(await startEngine(tools));
  } finally {
    await stopEngine();
  }
}

/** Removes also the remains of an earlier run. */
const stopEngine = (): Promise<boolean> => stopNode(NAME);

const namespaces =
  '--mount --propagation private --net --uts --ipc --pid --fork --kill-child --mount-proc'.split(
    ' ',
  );

async function startEngine({ docker }: Tools): Promise<DockerEngine> {
  const layout = await chooseLayout(NAME);
  const { state, nodeAddress, hostAddress, cgroup } = layout;
  await mkdir(state, { recursive: true, mode: 0o711 });
  await writeRecord({ layout, tools: {} });
  makeCgroup(cgroup);
  await cp(join(import.meta.dirname, 'runc-fewer'), join(state, 'runc-fewer'));
  const log = openSync(join(state, 'dockerd.log'), 'a');
  const script = [join(import.meta.dirname, 'engine.sh'), state, nodeAddress, hostAddress, cgroup];
  const child = spawn('unshare', [...namespaces, '--', ...script], {
    detached: true,
    stdio: ['ignore', log, log],
    cwd: '/',
  });
  child.unref();
  const mark = child.pid === undefined ? undefined : readProcessMark(child.pid);
  if (mark === undefined) throw new Unhealthy('The namespaces of the Docker engine did not start.');
  await writeRecord({ layout, tools: {}, process: mark });
  const inner = await waitUntil(
    { what: 'the Docker engine', seconds: 10 },
    () => listChildProcesses(mark.pid)[0],
  );
  await connectNode(layout, inner);
  const engine = buildEngine(state, inner, await prepareEnvironment(state, docker));
  await waitUntil({ what: `the Docker engine (log: ${state}/dockerd.log)`, seconds: 60 }, () =>
    engine.run('docker', ['info']).then(
      () => true,
      () => false,
    ),
  );
  return engine;
}

/**
 * Returns the environment of programs in there: the engine's client and socket, and a home and a cache that go with it.
 */
async function prepareEnvironment(state: string, docker: string): Promise<Record<string, string>> {
  const [home, bin, cache] = ['home', 'bin', 'cache'].map((name) => join(state, name)) as [
    string,
    string,
    string,
  ];
  for (const folder of [home, bin, join(cache, 'gx-platform')])
    await mkdir(folder, { recursive: true });
  await symlink(docker, join(bin, 'docker'));
  // Compiled parts are the machine's; archives of images that Docker saved are not.
  await symlink(join(readDevConfig().cacheFolder, 'parts'), join(cache, 'gx-platform', 'parts'));
  await cp(join(homedir(), '.npmrc'), join(home, '.npmrc')).catch(() => undefined);
  return {
    PATH: [bin, ...searchPath()].join(delimiter),
    HOME: home,
    XDG_CACHE_HOME: cache,
    DOCKER_HOST: `unix://${join(state, 'docker.sock')}`,
    GX_CLUSTER: 'kind',
  };
}

function buildEngine(
  folder: string,
  pid: number,
  environment: Record<string, string>,
): DockerEngine {
  const inside = [
    '--target',
    String(pid),
    '--mount',
    '--net',
    '--pid',
    '--uts',
    '--ipc',
    '--wd=.',
    '--',
  ];
  return {
    folder,
    watch(file, args) {
      const log = openSync(join(folder, 'beside.log'), 'a');
      const child = spawn('nsenter', [...inside, file, ...args], {
        env: extendEnvironment(environment),
        stdio: ['ignore', log, log],
      });
      return { stop: () => void child.kill() };
    },
    run: (file, args, input) =>
      runProcess('nsenter', [...inside, file, ...args], {
        env: extendEnvironment(environment),
        ...(input && { input }),
      }),
    show: (file, args, more = {}) =>
      new Promise((resolve, reject) => {
        const env = extendEnvironment({ ...environment, ...more });
        const child = spawn('nsenter', [...inside, file, ...args], {
          env,
          stdio: ['ignore', 'inherit', 'inherit'],
        });
        child.once('error', reject);
        child.once('close', (code) =>
          code === 0
            ? resolve()
            : reject(new CommandFailed(`${file} ${args.join(' ')} ended with ${code}.`)),
        );
      }),
  };
}

/** Returns Docker's programs as Debian's package has them; another client on the PATH may lack BuildKit. */
export function findDebianDocker(): Tools | undefined {
  const tools = { dockerd: '/usr/sbin/dockerd', docker: '/usr/bin/docker' };
  return Object.values(tools).every(isExecutable) ? tools : undefined;
}
