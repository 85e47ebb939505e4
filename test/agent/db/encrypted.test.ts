import { copyFileSync, writeFileSync } from 'node:fs';
import type { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openDatabase, type Database } from '../../../src/agent/db/base/pool.ts';
import { waitForDatabase } from '../../../src/agent/db/base/reach.ts';
import { openSignals, type Signal } from '../../../src/agent/db/base/signals.ts';
import { StartError, Unavailable } from '../../../src/errors.ts';
import { until } from '../../kit/until.ts';
import { silentLog } from '../../kit/log.ts';
import { authority, encryptedPostgres, type EncryptedPostgres } from '../../kit/postgres-tls.ts';

let server: EncryptedPostgres;
const open: Database[] = [];

beforeAll(async () => {
  server = await encryptedPostgres();
});
afterAll(async () => {
  await Promise.all(open.map((db) => db.close()));
  await server.stop();
});

/** The address in the form in which the operator gives it to a deployment's pods. */
function addressOf(host = 'localhost', authorityFile = server.authorityFile): string {
  const uri = new URL(server.uri);
  uri.hostname = host;
  uri.search = `?sslmode=verify-full&sslrootcert=${authorityFile}`;
  return uri.href;
}

function connect(uri: string, poolSize = 1): Database {
  const db = openDatabase(
    { uri, poolSize, statementTimeoutSeconds: 60, name: 'encrypted-test' },
    silentLog(),
  );
  open.push(db);
  return db;
}

const sessionOf = (db: Database): Promise<{ pid: number; ssl: boolean; version: string }[]> =>
  db.query({ text: 'select pid, ssl, version from pg_stat_ssl where pid = pg_backend_pid()' });

/** The serial number of the certificate that a new connection is shown. */
async function shown(): Promise<string> {
  const client = await connect(addressOf()).pool.connect();
  try {
    const { stream } = (client as unknown as { connection: { stream: TLSSocket } }).connection;
    return stream.getPeerCertificate().serialNumber;
  } finally {
    client.release();
  }
}

test('a database whose certificate is of the authority that the address names is reached encrypted', async () => {
  expect(await sessionOf(connect(addressOf()))).toMatchObject([{ ssl: true, version: 'TLSv1.3' }]);
});

test('the connection that listens is encrypted, too', async () => {
  const heard: Signal[] = [];
  const db = connect(addressOf());
  const handlers = { signal: (signal: Signal) => heard.push(signal), reconnected: () => undefined };
  const signals = openSignals({ db, uri: addressOf(), processId: 'one' }, silentLog());
  await signals.listen(handlers);
  await signals.send({ about: 'ticket' });
  await until('it is heard', async () => heard.length > 0);
  const text = `select ssl from pg_stat_ssl join pg_stat_activity using (pid) where application_name like 'gx-signals %'`;
  expect(await db.query({ text })).toEqual([{ ssl: true }]);
  await signals.close();
});

test('one that shows a certificate of another authority, or for another name, is as good as away, and no start waits for it', async () => {
  const stranger = `${server.authorityFile}.other`;
  writeFileSync(stranger, authority().certificate);
  for (const address of [addressOf('localhost', stranger), addressOf('127.0.0.1')]) {
    await expect(connect(address).query({ text: 'select 1' })).rejects.toThrow(Unavailable);
    const start = waitForDatabase(
      connect(address),
      address,
      3600,
      silentLog(),
      new AbortController().signal,
    );
    await expect(start).rejects.toThrow(StartError);
    await expect(start).rejects.toThrow(/Database .* can't be reached: .*(certificate|IP)/);
  }
});

test('a renewed certificate is shown to new connections, and those that are there go on', async () => {
  const lasting = connect(addressOf());
  const [before] = await sessionOf(lasting);
  const first = await shown();
  await server.renew();
  await until('another certificate is shown', async () => (await shown()) !== first);
  expect(await sessionOf(lasting)).toEqual([before]);
});

test('a pool goes on with another authority as soon as its file has that', async () => {
  const file = `${server.authorityFile}.followed`;
  copyFileSync(server.authorityFile, file);
  const db = connect(addressOf('localhost', file), 2);
  await db.query({ text: 'select 1' });
  const next = authority();
  await server.renew(next);
  // One connection is held so that the next statement opens a new one.
  await db.transaction(async () => {
    await until('the new one is not known', () =>
      db.query({ text: 'select 1' }).then(
        () => false,
        (error: unknown) => error instanceof Unavailable,
      ),
    );
    writeFileSync(file, next.certificate);
    expect(await db.query({ text: 'select 1 as one' })).toEqual([{ one: 1 }]);
  });
  await server.renew();
});
