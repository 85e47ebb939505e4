import type { Server } from 'node:http';
import { toError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { KnownDeployment } from './known-deployments.ts';

/** Milliseconds until a port that could not be opened is tried again. */
const AGAIN = 5000;

type Options = {
  host: string;
  open: (key: string) => Server;
  log: Log;
};

type Door = { key: string; server: Server; retry?: NodeJS.Timeout };

/** Keeps a port open for each deployment that may sleep, before it does. */
export class Doors {
  readonly #options: Options;
  readonly #doors = new Map<number, Door>();
  #isClosed = false;

  constructor(options: Options) {
    this.#options = options;
  }

  get count(): number {
    return this.#doors.size;
  }

  /** Opens and closes ports, so that there is one for each of these. */
  keep(deployments: readonly KnownDeployment[]): void {
    if (this.#isClosed) return;
    const wanted = new Map<number, KnownDeployment>();
    for (const one of deployments) if (one.port !== undefined) wanted.set(one.port, one);
    for (const [port, { key }] of this.#doors) if (wanted.get(port)?.key !== key) this.#close(port);
    for (const [port, { key }] of wanted) if (!this.#doors.has(port)) this.#open(port, key);
  }

  async countConnections(): Promise<number> {
    const counts = [...this.#doors.values()].map(
      ({ server }) =>
        new Promise<number>(
          (resolve) =>
            void server.getConnections((error, count) => resolve(error === null ? count : 0)),
        ),
    );
    return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
  }

  /** Takes no new connections. Those that are open end by themselves, or when `end` is called. */
  close(): void {
    this.#isClosed = true;
    for (const { server, retry } of this.#doors.values()) {
      clearTimeout(retry);
      server.close();
      server.closeIdleConnections();
    }
  }

  end(): void {
    for (const { server } of this.#doors.values()) server.closeAllConnections();
    this.#doors.clear();
  }

  #open(port: number, key: string): void {
    const { host, open, log } = this.#options;
    const door: Door = { key, server: open(key) };
    this.#doors.set(port, door);
    const listen = (): void => void door.server.listen(port, host);
    door.server.on('error', (error) => {
      log.warn(
        { err: toError(error), port, deployment: key },
        'a port could not be opened; this will be tried again',
      );
      door.retry = setTimeout(listen, AGAIN).unref();
    });
    listen();
  }

  #close(port: number): void {
    const door = this.#doors.get(port);
    this.#doors.delete(port);
    clearTimeout(door?.retry);
    door?.server.close();
    door?.server.closeIdleConnections();
  }
}
