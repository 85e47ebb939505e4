import { PLAIN } from '../../src/agent/encryption/codec.ts';
import { readdirSync, readFileSync } from 'node:fs';
import { PGlite } from '@electric-sql/pglite';
import { vector } from '@electric-sql/pglite-pgvector';
import type { Database, Db } from '../../src/agent/db/base/pool.ts';

const FOLDER = new URL('../../src/agent/db/migrations/', import.meta.url);

/**
 * Makes our tables in a Postgres with pgvector that is compiled for this process. The suite's server has no pgvector.
 */
export async function postgresWithVectors(): Promise<{ db: Database; close: () => Promise<void> }> {
  const postgres = await PGlite.create({ extensions: { vector } });
  await postgres.exec('create schema gx');
  for (const name of readdirSync(FOLDER).toSorted())
    await postgres.exec(readFileSync(new URL(name, FOLDER), 'utf8'));
  const statements = (target: Pick<PGlite, 'query'>): Db => ({
    codec: PLAIN,
    query: async ({ text, values }) => (await target.query(text, values)).rows as never,
  });
  const transaction = (work: (tx: Db) => Promise<unknown>): Promise<unknown> =>
    postgres.transaction((tx) => work(statements(tx as never)));
  return {
    db: { ...statements(postgres), transaction } as Database,
    close: () => postgres.close(),
  };
}
