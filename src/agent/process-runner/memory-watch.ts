import { readFileSync } from 'node:fs';

/** Milliseconds between two looks: a process that takes a gigabyte a second passes its limit by 250 MB. */
const LOOK_EVERY = 250;

/** The share of its limit above which a runner should get no new work. */
const FULL = 0.75;

type Watched = { pid: number; megabytes: number | undefined; exceeded: (sentence: string) => void };

/**
 * Watches the memory of a runner, which has no limit of its own. Processes that it starts itself do not count. Where
 * there is no /proc, nothing is watched.
 */
export class MemoryWatch {
  readonly #watched: Watched;
  readonly #timer: NodeJS.Timeout | undefined;
  #taken = 0;

  constructor(watched: Watched) {
    this.#watched = watched;
    if (watched.megabytes !== undefined) this.#timer = setInterval(() => this.#look(watched.megabytes!), LOOK_EVERY);
  }

  get full(): boolean {
    const { megabytes } = this.#watched;
    return megabytes !== undefined && this.#taken > megabytes * FULL;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(limit: number): void {
    const { pid, exceeded } = this.#watched;
    this.#taken = megabytesOf(pid) ?? 0;
    if (this.#taken <= limit) return;
    this.stop();
    const taken = `The runner took ${Math.round(this.#taken)} MB of memory, and may take ${limit}`;
    exceeded(`${taken}: it is ended. GX_PYTHON_MEMORY_MB allows more.`);
  }
}

/** Returns the memory of a process that is in the machine's; undefined where that is not known. */
function megabytesOf(pid: number): number | undefined {
  try {
    const kilobytes = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1];
    return kilobytes === undefined ? undefined : Number(kilobytes) / 1024;
  } catch {
    return undefined;
  }
}
