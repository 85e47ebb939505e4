import { Client } from 'pg';
import type { Log } from '../../log.ts';
import type { Db } from './pool.ts';
import { Batcher } from './batcher.ts';

/** What processes tell each other. It carries no data: whoever hears it reads the database. */
export type Signal =
  | { about: 'ticket' }
  /** Of these runs, each with its thread. */
  | { about: 'events'; run_ids: string[]; thread_ids: string[] }
  | { about: 'end'; run_id: string }
  | { about: 'stop'; run_id: string }
  | { about: 'reader'; run_id: string; reader: string }
  | { about: 'thread-reader'; thread_id: string; reader: string }
  /** It may be new to those who follow it; `readers`: processes that need not be told, because they are in its row. */
  | { about: 'thread'; thread_id: string; readers: string[] };

const EVERYBODY = 'gx_all';
const close = (client: Client): void => void client.end().catch(() => undefined);

const RETRY_MILLISECONDS = 1000;
const CHECK_MILLISECONDS = 10_000;

/** The channel that one process listens to. */
export const channelOf = (processId: string): string => `gx_${processId.replaceAll('-', '')}`;

export type Signals = {
  processId: string;
  /** To one process, or to all. */
  send(signal: Signal, to?: string): Promise<void>;
};

/** What a process does with what it hears. `reconnected`: something may have been missed. */
export type SignalHandlers = { signal: (signal: Signal) => void; reconnected: () => void };

export type SignalConnection = Signals & {
  /** Hears what others send from now on. */
  listen(handlers: SignalHandlers): Promise<void>;
  close(): Promise<void>;
};

/**
 * Opens the signals of one process. It can send at once, and hears others on a connection of its own, which is replaced
 * when it breaks.
 */
export function openSignals({ db, uri, processId }: { db: Db; uri: string; processId: string }, log: Log): SignalConnection {
  const notes = new Batcher((some: Note[]) => notify(db, some));
  const listener = new Listener({ uri, channels: [EVERYBODY, channelOf(processId)] }, log);
  return {
    processId,
    send: (signal, to) => notes.add({ channel: to === undefined ? EVERYBODY : channelOf(to), payload: JSON.stringify(signal) }),
    listen: (handlers) => listener.open(handlers),
    close: () => listener.close(),
  };
}

/** The connection on which a process hears signals. */
class Listener {
  readonly #uri: string;
  readonly #channels: string[];
  readonly #log: Log;
  #client: Client | undefined;
  #closed = false;
  #retry: NodeJS.Timeout | undefined;
  #check: NodeJS.Timeout | undefined;

  constructor({ uri, channels }: { uri: string; channels: string[] }, log: Log) {
    this.#uri = uri;
    this.#channels = channels;
    this.#log = log;
  }

  async open(handlers: SignalHandlers): Promise<void> {
    await this.#connect(handlers);
    // A connection that died without a word is noticed by asking it.
    const lost = (error: Error): void => this.#lost(error, handlers);
    this.#check = setInterval(() => void this.#client?.query('select 1').catch(lost), CHECK_MILLISECONDS);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#retry);
    clearInterval(this.#check);
    await this.#client?.end().catch(() => undefined);
  }

  async #connect(handlers: SignalHandlers): Promise<void> {
    const next = new Client({ connectionString: this.#uri, application_name: 'gx-signals', keepAlive: true });
    next.on('error', (error) => this.#lost(error, handlers));
    next.on('end', () => this.#lost(undefined, handlers));
    next.on('notification', ({ payload = '' }) => handlers.signal(JSON.parse(payload) as Signal));
    await next.connect();
    await next.query(`listen ${this.#channels.join('; listen ')}`);
    this.#client = next;
  }

  #lost(error: Error | undefined, handlers: SignalHandlers): void {
    const client = this.#client;
    if (this.#closed || client === undefined) return;
    this.#log.warn({ err: error }, 'listening connection lost');
    client.removeAllListeners();
    client.on('error', () => undefined);
    close(client);
    this.#client = undefined;
    this.#retryLater(handlers);
  }

  #retryLater(handlers: SignalHandlers): void {
    const again = async (): Promise<void> => {
      try {
        await this.#connect(handlers);
        handlers.reconnected();
      } catch {
        if (!this.#closed) this.#retryLater(handlers);
      }
    };
    this.#retry = setTimeout(() => void again(), RETRY_MILLISECONDS);
  }
}

type Note = { channel: string; payload: string };

/** In one statement, where Postgres keeps one of several that are the same. */
async function notify(db: Db, notes: Note[]): Promise<undefined[]> {
  await db.query({
    name: 'notify',
    text: 'select pg_notify(channel, payload) from unnest($1::text[], $2::text[]) as n (channel, payload)',
    values: [notes.map(({ channel }) => channel), notes.map(({ payload }) => payload)],
  });
  return notes.map(() => undefined);
}
