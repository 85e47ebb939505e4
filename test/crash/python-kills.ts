import { existsSync } from 'node:fs';
import process from 'node:process';
import { until } from '../kit/until.ts';
import type { Fleet } from './fleet.ts';
import { stepUnderWay, type Journal, type Line } from './journal.ts';

/**
 * What a kill does: to a runner alone, or to a worker, each of which is at work. `holds`: a run holds its runner's loop
 * in C code until it is cancelled. `holds, and its worker dies`: nobody else can end that runner. `eats`: a run takes
 * more memory than its runner may.
 */
export const WAYS = [
  'runner',
  'worker',
  'runner',
  'holds',
  'worker',
  'runner',
  'eats',
  'runner',
  'holds, and its worker dies',
  'worker',
] as const;

export type Way = (typeof WAYS)[number];

/** A run that does harm to its runner at one of its steps. `mark` is the file that says that it has begun. */
export type Harmful = { thread_id: string; run_id: string; mark: string };

type Parts = {
  fleet: Fleet;
  journal: Journal;
  /** Milliseconds that a step takes at least. */
  pause: number;
  start(harm: 'holds' | 'eats'): Promise<Harmful>;
  cancel(run: Harmful): Promise<void>;
};

/**
 * A runner that died: how, and when that was asked for (milliseconds). `took`: until it was gone, if its run was
 * cancelled.
 */
export type Death = { way: Way; at: number; took?: number };

const isThere = (pid: number): boolean => existsSync(`/proc/${pid}`);

/** Ends the runners of a fleet in all ways, and records when each died. */
export class PythonKills {
  readonly #parts: Parts;
  /** By the runner's process id. */
  readonly deaths = new Map<number, Death>();
  /** The runs that were cancelled. */
  readonly cancelled = new Set<string>();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Kills once; settles when the process has ended. */
  async kill(way: Way): Promise<void> {
    const { fleet, journal, pause } = this.#parts;
    if (way === 'holds' || way === 'eats' || way === 'holds, and its worker dies')
      return this.#harm(way);
    const line = await stepUnderWay(
      journal,
      () => fleet.pids.filter((pid) => !this.#lacksRunner(pid)),
      pause,
    );
    if (way === 'worker') await this.#killWorker(way, line);
    else this.#killRunner(line);
  }

  /** Returns the runners that are dead, and are still there. */
  leftBehind(): number[] {
    return [...this.deaths.keys()].filter(isThere);
  }

  /** Its last runner is dead, so that what the journal says of it is of before. */
  #lacksRunner(pid: number): boolean {
    const last = this.#parts.journal.recent().findLast((line) => line.pid === pid);
    return last?.runner !== undefined && this.deaths.has(last.runner);
  }

  #killRunner({ runner }: Line): void {
    this.deaths.set(runner!, { way: 'runner', at: Date.now() });
    process.kill(runner!, 'SIGKILL');
  }

  async #killWorker(way: Way, { pid }: Line): Promise<void> {
    const { fleet, journal } = this.#parts;
    const at = Date.now();
    await fleet.kill(pid);
    const runners = new Set(
      journal.lines().flatMap((line) => (line.pid === pid ? [line.runner!] : [])),
    );
    for (const runner of runners)
      if (!this.deaths.has(runner)) this.deaths.set(runner, { way, at });
  }

  async #harm(way: Exclude<Way, 'runner' | 'worker'>): Promise<void> {
    const { journal, start, cancel } = this.#parts;
    const run = await start(way === 'eats' ? 'eats' : 'holds');
    await until('it does harm', () => existsSync(run.mark), 60);
    const line = journal.of(run.run_id).at(-1)!;
    if (way === 'holds, and its worker dies') return this.#killWorker(way, line);
    const at = Date.now();
    if (way === 'holds') this.cancelled.add(run.run_id);
    const cancelled = way === 'holds' ? cancel(run) : undefined;
    await until('its runner is gone', () => !isThere(line.runner!), 60);
    const took = Date.now() - at;
    // One that eats dies once it has eaten enough.
    this.deaths.set(line.runner!, way === 'eats' ? { way, at: Date.now() } : { way, at, took });
    await cancelled;
  }
}
