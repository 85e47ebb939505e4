import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startPostgres } from '../../src/agent/dev/embedded-postgres/start.ts';
import {
  createAuthority,
  createCertificate,
  type Pair,
} from '../../src/operator/database/own/tls/certificate.ts';
import { asAdmin } from './postgres-template.ts';

export type EncryptedPostgres = {
  /** The superuser's address, which does not mention TLS. */
  uri: string;
  /** The file with the authority by which clients verify the server. */
  authorityFile: string;
  /** Gives it another certificate, of the same authority or of another one. The file keeps the first authority. */
  renew(by?: Pair): Promise<void>;
  stop(): Promise<void>;
};

export const authority = (): Pair =>
  createAuthority('chat-db authority', { now: new Date(), random: randomBytes });

/**
 * Starts a Postgres that serves TLS as a deployment's does, with certificates that the operator's own code makes for
 * `localhost`.
 */
export async function encryptedPostgres(): Promise<EncryptedPostgres> {
  const home = mkdtempSync(path.join(tmpdir(), 'gx-tls-'));
  chmodSync(home, 0o755);
  const server = await startPostgres({
    folder: path.join(home, 'server'),
    owner: 'this test',
    durable: false,
  });
  const own = authority();
  const authorityFile = path.join(home, 'ca.crt');
  writeFileSync(authorityFile, own.certificate);
  const renew = async (by = own): Promise<void> => {
    const { certificate, key } = createCertificate(by, ['localhost'], {
      now: new Date(),
      random: randomBytes,
    });
    await asAdmin(server.uri, async (client) => {
      const { rows } = await client.query<{ at: string }>(
        `select current_setting('data_directory') as at`,
      );
      const at = rows[0]?.at ?? '';
      // Postgres' own account makes the files, because Postgres accepts no key that others may read.
      const write = (name: string, text: string): Promise<unknown> =>
        client.query(
          `copy (select '${Buffer.from(text).toString('base64')}') to program 'umask 077; base64 -d > ${at}/${name}'`,
        );
      await write('tls.crt', certificate);
      await write('tls.key', key);
      await client.query(`alter system set ssl_cert_file = '${at}/tls.crt'`);
      await client.query(`alter system set ssl_key_file = '${at}/tls.key'`);
      await client.query('alter system set ssl = on');
      await client.query('select pg_reload_conf()');
    });
  };
  await renew();
  const stop = async (): Promise<void> => {
    await server.stop();
    await rm(home, { recursive: true, force: true });
  };
  return { uri: server.uri, authorityFile, renew, stop };
}
