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
  | { about: 'thread-reader'; thread_id: string; reader: string };

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
  close(): Promise<void>;
};

type Hears = { signal: (signal: Signal) => void; reconnected: () => void };

/** Listens on a connection of its own, which is replaced when it breaks; `reconnected` says that something may have been missed. */
export async function openSignals(
  { db, uri, processId }: { db: Db; uri: string; processId: string },
  hears: Hears,
  log: Log,
): Promise<Signals> {
  const notes = new Batcher((some: Note[]) => notify(db, some));
  let client: Client | undefined;
  let closed = false;
  let timer: NodeJS.Timeout | undefined;
  const lost = (error: Error | undefined): void => {
    if (closed || client === undefined) return;
    log.warn({ err: error }, 'listening connection lost');
    client.removeAllListeners();
    client.on('error', () => undefined);
    close(client);
    client = undefined;
    timer = setTimeout(() => void again(), RETRY_MILLISECONDS);
  };
  const connect = async (): Promise<void> => {
    const next = new Client({ connectionString: uri, application_name: 'gx-signals', keepAlive: true });
    next.on('error', lost);
    next.on('end', () => lost(undefined));
    next.on('notification', ({ payload = '' }) => hears.signal(JSON.parse(payload) as Signal));
    await next.connect();
    await next.query(`listen ${EVERYBODY}; listen ${channelOf(processId)}`);
    client = next;
  };
  const again = async (): Promise<void> => {
    try {
      await connect();
      hears.reconnected();
    } catch {
      if (!closed) timer = setTimeout(() => void again(), RETRY_MILLISECONDS);
    }
  };
  await connect();
  // A connection that died without a word is noticed by asking it.
  const check = setInterval(() => void client?.query('select 1').catch(lost), CHECK_MILLISECONDS);
  return {
    processId,
    send: (signal, to) => notes.add({ channel: to === undefined ? EVERYBODY : channelOf(to), payload: JSON.stringify(signal) }),
    close: async () => {
      closed = true;
      clearTimeout(timer);
      clearInterval(check);
      await client?.end().catch(() => undefined);
    },
  };
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
