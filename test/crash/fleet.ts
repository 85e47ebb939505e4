import process from 'node:process';
import { until } from '../kit/until.ts';
import { spawnAgent, startAgent, type AgentProcess } from '../kit/agent-server.ts';

const GRAPHS = 'test/crash/graphs/gx.json';

/** `config`: the file of the graphs, where they are not those in JavaScript. */
type Options = { database: string; config?: string; env?: Record<string, string> };

/** A process that answers requests and executes nothing. */
export const api = ({ database, config = GRAPHS, env = {} }: Options): Promise<AgentProcess> =>
  startAgent({ database, config, env: { ...env, N_JOBS_PER_WORKER: '0', GX_LOG_LEVEL: 'warn' } });

const asWorker = ({ database, config = GRAPHS, env = {} }: Options) => ({
  database,
  config,
  env: { N_JOBS_PER_WORKER: '10', ...env },
});

/** A process that executes runs. */
export const worker = (options: Options): Promise<AgentProcess> => startAgent(asWorker(options));

export const pidOf = ({ process: { pid } }: AgentProcess): number => pid!;

const readyLine = (one: AgentProcess): string | undefined =>
  one.output().match(/^.*agent server ready.*$/m)?.[0];

/** The name under which it holds runs, as its first log line stated. */
function nameOf(one: AgentProcess): string {
  const ready = readyLine(one);
  if (ready === undefined)
    throw new Error(`worker ${pidOf(one)} was never ready:\n${one.output()}`);
  return (JSON.parse(ready) as { worker: string }).worker;
}

/** Workers, one of which is killed now and then and replaced by another at once. */
export class Fleet {
  readonly #options: Options;
  #alive: AgentProcess[] = [];
  #failed: string | undefined;
  /** The time at which each process was killed, by its id and by the name under which it held runs. */
  readonly killed = new Map<number, number>();
  readonly dead = new Map<string, number>();
  /** Milliseconds that each took to be ready: how fast this machine is just now. */
  readonly starts: number[] = [];

  constructor(options: Options) {
    this.#options = options;
  }

  async start(count: number): Promise<void> {
    await Promise.all(Array.from({ length: count }, () => this.#add()));
  }

  get pids(): number[] {
    return this.#alive.map(pidOf);
  }

  /** Returns the process that holds runs under this name; undefined when it is not alive. */
  pidNamed(name: string): number | undefined {
    const found = this.#alive.find((one) => one.output().includes(name));
    return found && pidOf(found);
  }

  /** Kills one with SIGKILL and starts a new one in its place, which begins to work when it is ready. */
  async kill(pid: number): Promise<void> {
    const victim = this.#alive.find((one) => pidOf(one) === pid);
    if (victim === undefined) throw new Error(`no worker ${pid}`);
    this.#alive = this.#alive.filter((one) => one !== victim);
    const at = Date.now();
    await victim.kill('SIGKILL');
    this.killed.set(pid, at);
    this.dead.set(nameOf(victim), at);
    await this.#add();
  }

  /** Settles when all but one are ready, because in a cluster others go on; or when all but `missing` are. */
  async complete(missing = 1): Promise<void> {
    await until('the others are ready', async () => {
      for (const one of this.#alive)
        if (one.process.exitCode !== null) this.#failed ??= one.output();
      const answers = await Promise.all(
        this.#alive.map(
          async ({ url }) => (await fetch(`${url}/ok`).catch(() => undefined))?.ok === true,
        ),
      );
      return (
        answers.filter(Boolean).length >= this.#alive.length - missing || this.#failed !== undefined
      );
    });
    if (this.#failed !== undefined) throw new Error(`a worker did not start:\n${this.#failed}`);
  }

  async stop(): Promise<void> {
    await Promise.all(this.#alive.map((one) => one.kill('SIGKILL')));
  }

  async #add(): Promise<void> {
    const began = Date.now();
    const one = await spawnAgent(asWorker(this.#options));
    this.#alive.push(one);
    const isReady = (): void => {
      if (readyLine(one) === undefined) return;
      this.starts.push(Date.now() - began);
      one.process.stdout?.off('data', isReady);
    };
    one.process.stdout?.on('data', isReady);
  }
}

export const say = (line: string): void => {
  process.stdout.write(`    ${line}\n`);
};
