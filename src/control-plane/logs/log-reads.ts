import { setImmediate as nextTurn } from 'node:timers/promises';
import { Unavailable } from '../../errors.ts';
import { Places } from '../../http/limits/quota.ts';
import { resolveDeploymentTenant } from '../../schema/platform/resources/tenancy.ts';
import type { ControlPlane } from '../control-plane.ts';
import type { Line } from './best-lines.ts';
import { readPodLogs, type LogRequest, type LogSource, type TakeLines } from './pod-logs.ts';

/** Milliseconds after which a read is given up. */
const PATIENCE = 30_000;
/**
 * Reads at a time. Each holds four containers' logs of a mebibyte, which is some 5 MB with their lines: 160 MB for all
 * of them.
 */
const AT_ONCE = { namespace: 4, tenant: 6, all: 8 };
const BUSY = 'Too many logs are being read; try again later.';

/** Names a source of lines: they are the same for all who ask for the same. */
export const buildSourceId = ({ deployment, revision, type = 'deploy' }: LogSource): string =>
  `${deployment.metadata.uid} ${revision?.metadata.uid ?? ''} ${type}`;

/**
 * Reads logs of pods, few at a time, and each deployment's once for all who wait for it: callers who ask while a read
 * is under way share the next one.
 */
export class LogReads {
  readonly #plane: ControlPlane;
  readonly #places = new Places();
  readonly #running = new Map<string, Promise<number>>();
  readonly #waiting = new Map<string, { takes: TakeLines[]; done: Promise<number> }>();

  constructor(plane: ControlPlane) {
    this.#plane = plane;
  }

  /**
   * Gives away the last lines, and returns the number of pods that were left out. Throws a 429 when too many logs are
   * being read.
   */
  readLast(source: LogSource, take: TakeLines): Promise<number> {
    const key = buildSourceId(source);
    const running = this.#running.get(key);
    const waiting = this.#waiting.get(key);
    if (waiting !== undefined) {
      waiting.takes.push(take);
      return waiting.done;
    }
    if (running === undefined) return this.#start(key, source, [take]);
    const takes = [take];
    const startNext = async (): Promise<number> => {
      await running.catch(() => undefined);
      this.#waiting.delete(key);
      return this.#start(key, source, takes);
    };
    const done = startNext();
    this.#waiting.set(key, { takes, done });
    return done;
  }

  /** The same of the lines since a time. */
  async readSince(
    request: LogRequest & Required<Pick<LogRequest, 'since'>>,
    take: TakeLines,
  ): Promise<number> {
    const leave = this.#enter(request);
    try {
      const signal = AbortSignal.any([request.signal, AbortSignal.timeout(PATIENCE)]);
      return await readPodLogs(this.#plane, { ...request, signal }, take);
    } finally {
      leave();
    }
  }

  #start(key: string, source: LogSource, takes: TakeLines[]): Promise<number> {
    const reading = this.#read(source, takes).finally(() => this.#running.delete(key));
    this.#running.set(key, reading);
    return reading;
  }

  async #read(source: LogSource, takes: TakeLines[]): Promise<number> {
    const leave = this.#enter(source);
    const takeAll = async (lines: Line[], missed: boolean): Promise<void> => {
      for (const take of takes) {
        await nextTurn();
        await take(lines, missed);
      }
    };
    const signal = AbortSignal.timeout(PATIENCE);
    try {
      return await readPodLogs(this.#plane, { ...source, signal }, takeAll);
    } catch (error) {
      throw signal.aborted
        ? new Unavailable('The logs could not be read in time; try again.', { cause: error })
        : error;
    } finally {
      leave();
    }
  }

  #enter({ deployment }: LogSource): () => void {
    const { stored, config } = this.#plane;
    const tenant =
      resolveDeploymentTenant(deployment, stored.getOwners(), config.defaultTenantId) ??
      `namespace ${deployment.metadata.namespace}`;
    return this.#places.enter([
      { name: `tenant ${tenant}`, most: AT_ONCE.tenant, message: BUSY },
      {
        name: `namespace ${deployment.metadata.namespace}`,
        most: AT_ONCE.namespace,
        message: BUSY,
      },
      { name: 'all', most: AT_ONCE.all, message: BUSY },
    ]);
  }
}
