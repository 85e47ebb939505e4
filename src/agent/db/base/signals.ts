import { Client } from 'pg';
import type { Log } from '../../../log.ts';
import type { Cursor } from '../../../schema/agent/stream-event.ts';
import type { Db } from './pool.ts';
import { Batcher } from './batcher.ts';

/** A message between processes. A signal carries no data: its receivers read the database. */
export type Signal =
  /** Runs wait. `revisions`: those whose runs have no ticket. */
  | { about: 'ticket'; revisions?: string[] }
  /** The end of a run is to be sent. */
  | { about: 'webhook' }
  | { about: 'cron' }
  /** The database has a newer plan of the revisions. */
  | { about: 'plan' }
  /** The runs that have new events, each with its thread. */
  | { about: 'events'; run_ids: string[]; thread_ids: string[] }
  /** `last`: the run's last event, where its worker wrote the end. */
  | { about: 'end'; run_id: string; last?: Cursor | undefined }
  | { about: 'stop'; run_id: string }
  /** A call waits for a process of the revision. */
  | { about: 'call'; call_id: string; revision: string }
  /** The call has an answer. */
  | { about: 'answer'; call_id: string }
  | { about: 'reader'; run_id: string; reader: string }
  | { about: 'thread-reader'; thread_id: string; reader: string }
  /** A run of the thread publishes protocol events. `readers` need no signal, because a row names them. */
  | { about: 'thread'; thread_id: string; readers: string[] };

const EVERYBODY = 'gx_all';
const close = (client: Client): void => void client.end().catch(() => undefined);

const RETRY_MILLISECONDS = 1000;
/** A wait that is short enough that no live worker whose session was ended is taken for dead. */
const FIRST_RETRY_MILLISECONDS = 50;
/** Milliseconds between two checks of a connection: where a process uses it, and where it only hears signals. */
const LOOK_MILLISECONDS = 1000;
const CHECK_MILLISECONDS = 10_000;

/** Returns the channel that one process listens to. */
export const formatProcessChannel = (processId: string): string =>
  `gx_${processId.replaceAll('-', '')}`;

/**
 * The beginning of the name that the session of a process has in the database, where others see that it is there.
 * Postgres keeps 63 characters, so of the revision it has the end, in which revisions of a deployment differ.
 */
export const formatProcessSession = (processId: string): string => `gx-signals ${processId}`;
const trimRevision = (revision: string): string => revision.slice(-15);

/** A pattern (`like`) for the names of the sessions of a revision. */
export const formatRevisionSession = (revision: string): string =>
  `${formatProcessSession('_'.repeat(36))} ${trimRevision(revision)}`;

export type Signals = {
  processId: string;
  send(signal: Signal, to?: string): Promise<void>;
};

/** The calls of a process for the signals that it hears. `reconnected` says that something may have been missed. */
export type SignalHandlers = { signal: (signal: Signal) => void; reconnected: () => void };

/** A connection that lasts, and all that Postgres keeps for it. */
export type Session = Client;

export type SessionUse = {
  /** Prepares a new session, before anybody relies on it. */
  begin(session: Session): Promise<void>;
  /** Uses the session, once a second. A failure means that it is lost. */
  look(session: Session): Promise<void>;
  handleLoss(): void;
  /** Ends the use, because the process closes the session. */
  end(): Promise<void>;
};

export type SignalConnection = Signals & {
  listen(handlers: SignalHandlers, use?: SessionUse): Promise<void>;
  close(): Promise<void>;
};

/**
 * Opens the signals of one process. It can send at once, and hears others on a connection of its own, which is replaced
 * when it breaks.
 */
export function openSignals(
  {
    db,
    uri,
    processId,
    revision = '',
  }: { db: Db; uri: string; processId: string; revision?: string | undefined },
  log: Log,
): SignalConnection {
  const notes = new Batcher((some: Note[]) => notify(db, some));
  const listener = new Listener(
    {
      uri,
      channels: [EVERYBODY, formatProcessChannel(processId)],
      session: `${formatProcessSession(processId)} ${trimRevision(revision)}`,
    },
    log,
  );
  return {
    processId,
    send: (signal, to) =>
      notes.add({
        channel: to === undefined ? EVERYBODY : formatProcessChannel(to),
        payload: JSON.stringify(signal),
      }),
    listen: (handlers, use) => listener.open(handlers, use),
    close: () => listener.close(),
  };
}

type Uses = { handlers: SignalHandlers; use: SessionUse | undefined };

class Listener {
  readonly #uri: string;
  readonly #channels: string[];
  readonly #session: string;
  readonly #log: Log;
  #client: Client | undefined;
  #use: SessionUse | undefined;
  #closed = false;
  #retry: NodeJS.Timeout | undefined;
  #looks: NodeJS.Timeout | undefined;
  #looking = false;

  constructor(
    { uri, channels, session }: { uri: string; channels: string[]; session: string },
    log: Log,
  ) {
    this.#uri = uri;
    this.#channels = channels;
    this.#session = session;
    this.#log = log;
  }

  async open(handlers: SignalHandlers, use?: SessionUse): Promise<void> {
    this.#use = use;
    const uses = { handlers, use };
    await this.#connect(uses);
    this.#looks = setInterval(
      () => void this.#look(uses),
      use === undefined ? CHECK_MILLISECONDS : LOOK_MILLISECONDS,
    );
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#retry);
    clearInterval(this.#looks);
    await this.#use?.end().catch(() => undefined);
    await this.#client?.end().catch(() => undefined);
  }

  async #connect(uses: Uses): Promise<void> {
    const { handlers, use } = uses;
    const next = new Client({
      connectionString: this.#uri,
      application_name: this.#session,
      keepAlive: true,
    });
    next.on('error', (error) => this.#handleLoss(next, error, uses));
    next.on('end', () => this.#handleLoss(next, undefined, uses));
    next.on('notification', ({ payload = '' }) => handlers.signal(JSON.parse(payload) as Signal));
    try {
      await next.connect();
      await next.query(`listen ${this.#channels.join('; listen ')}`);
      await use?.begin(next);
    } catch (error) {
      use?.handleLoss();
      close(next);
      throw error;
    }
    this.#client = next;
    void this.#look(uses);
  }

  /** Checks the connection by a query, because one that has died without a word shows it in no other way. */
  async #look(uses: Uses): Promise<void> {
    const client = this.#client;
    if (client === undefined || this.#looking) return;
    this.#looking = true;
    const look = uses.use?.look(client) ?? client.query('select 1');
    await look.catch((error: Error) => this.#handleLoss(client, error, uses));
    this.#looking = false;
  }

  #handleLoss(client: Client, error: Error | undefined, uses: Uses): void {
    if (this.#closed || client !== this.#client) return;
    this.#log.warn({ err: error }, 'listening connection lost');
    client.removeAllListeners();
    client.on('error', () => undefined);
    close(client);
    this.#client = undefined;
    uses.use?.handleLoss();
    this.#retryLater(uses, FIRST_RETRY_MILLISECONDS);
  }

  #retryLater(uses: Uses, milliseconds: number): void {
    const retryConnect = async (): Promise<void> => {
      try {
        await this.#connect(uses);
        uses.handlers.reconnected();
      } catch {
        if (!this.#closed) this.#retryLater(uses, RETRY_MILLISECONDS);
      }
    };
    this.#retry = setTimeout(() => void retryConnect(), milliseconds);
  }
}

type Note = { channel: string; payload: string };

/** Sends the notes in one statement, of which Postgres keeps one where several are the same. */
async function notify(db: Db, notes: Note[]): Promise<undefined[]> {
  await db.query({
    name: 'notify',
    text: 'select pg_notify(channel, payload) from unnest($1::text[], $2::text[]) as n (channel, payload)',
    values: [notes.map(({ channel }) => channel), notes.map(({ payload }) => payload)],
  });
  return notes.map(() => undefined);
}
