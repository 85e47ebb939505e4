import { mkdtempSync, readFileSync, realpathSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { Client } from 'pg';
import {
  startPostgres,
  type EmbeddedPostgres,
} from '../../src/agent/dev/embedded-postgres/start.ts';

export type MortalPostgres = {
  /** The address is the same before and after a death. */
  uri: string;
  /** Kills the server with SIGKILL. Its children follow. Settles when it is gone. */
  kill(): Promise<void>;
  /** Starts it again on the same data. */
  restart(): Promise<void>;
  stop(): Promise<void>;
};

/** A Postgres of its own, behind an address that stays. Its data outlives it, and its commits wait for the disk. */
export async function mortalPostgres(): Promise<MortalPostgres> {
  const folder = mkdtempSync(path.join(tmpdir(), 'gx-mortal-postgres-'));
  const start = (): Promise<EmbeddedPostgres> =>
    startPostgres({ folder, owner: 'a crash test', durable: true });
  let server = await start();
  await commitsWait(server.uri);
  const door = await doorTo(() => Number(new URL(server.uri).port));
  const uri = new URL(server.uri);
  uri.port = String(door.port);
  return {
    uri: uri.href,
    kill: async () => {
      const [pid] = readFileSync(
        path.join(realpathSync(folder), 'data', 'postmaster.pid'),
        'utf8',
      ).split('\n');
      process.kill(Number(pid), 'SIGKILL');
      await server.ended;
    },
    restart: async () => {
      server = await start();
    },
    stop: async () => {
      door.close();
      await server.stop();
      await rm(realpathSync(folder), { recursive: true, force: true });
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Whatever is answered must be on the disk. A database's setting outranks the server's. */
async function commitsWait(uri: string): Promise<void> {
  const client = new Client({ connectionString: uri });
  await client.connect();
  await client.query('alter database postgres set synchronous_commit = on');
  await client.end();
}

/** An address that leads to whatever port the server has now. */
async function doorTo(target: () => number): Promise<{ port: number; close(): void }> {
  const open = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(target(), '127.0.0.1');
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(from);
      from.on('error', () => to.destroy());
      from.on('close', () => {
        open.delete(from);
        to.destroy();
      });
      from.pipe(to);
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = (): void => {
    server.close();
    for (const socket of open) socket.destroy();
  };
  return { port: (server.address() as AddressInfo).port, close };
}
