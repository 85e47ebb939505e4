import { createHash } from 'node:crypto';
import type { Db as QueueDb, PgBoss } from 'pg-boss';
import { StartError } from '../../errors.ts';
import type { Db } from '../db/base/pool.ts';

/* This file makes the statements of pg-boss a part of our own, which costs no round trip. */

/**
 * A statement of the queue as a part of another one: its text, with its parameters from a given one on, and its values.
 * `name` is the same for the same text only.
 */
export type QueuePart = { name: string; sql: (parameter: number) => string; values: unknown[] };

/** Returns a short name for a text. Postgres cuts off longer ones. */
const nameOf = (text: string): string => createHash('sha1').update(text).digest('base64url').slice(0, 12);

/** Returns a connection that plans each statement once. */
export const connectionOf = (db: Db, kind: string): QueueDb => ({
  executeSql: async (text: string, values: unknown[] = []) => ({
    rows: await db.query({ name: `${kind}_${nameOf(text)}`, text, values }),
  }),
});

/** Lets pg-boss send a statement, which `within` makes a part of its own. Returns the answer of `within`. */
export async function through<T>(
  send: (connection: QueueDb) => Promise<unknown>,
  within: (part: QueuePart) => Promise<{ rows: object[]; answer: T }>,
): Promise<T> {
  const { promise: answered, resolve, reject } = Promise.withResolvers<T>();
  const executeSql: QueueDb['executeSql'] = async (text, values = []) => {
    const sql = (parameter: number): string => text.replaceAll(/\$(\d+)/g, (_, own: string) => `$${parameter - 1 + Number(own)}`);
    // pg-boss keeps some errors to itself, for which it has its own meaning.
    const sent = within({ name: nameOf(text), sql, values }).catch((error: unknown) => {
      reject(error);
      throw error;
    });
    const { rows, answer } = await sent;
    resolve(answer);
    return { rows };
  };
  const [answer] = await Promise.all([answered, send({ executeSql }).catch(reject)]);
  return answer;
}

/** Looks whether the statements of the installed version of pg-boss can be parts of ours. */
export async function checkParts(boss: PgBoss, queue: string): Promise<void> {
  const textOf = (send: (connection: QueueDb) => Promise<unknown>): Promise<string> =>
    through(send, ({ sql }) => Promise.resolve({ rows: [], answer: sql(1) }));
  const insert = await textOf((connection) => boss.insert(queue, [{ data: {} }], { db: connection }));
  const fetch = await textOf((connection) => boss.fetch(queue, { batchSize: 2, db: connection }));
  if (!/^\s*insert into\s/i.test(insert) || !insert.includes('$1') || insert.includes('$2'))
    throw new StartError('This version of pg-boss writes jobs in a way this server does not know.');
  if (!/^\s*with\s[^$]*\supdate\s[^$]*\sreturning\s[^$]*\bid, name, data\b[^$]*$/i.test(fetch))
    throw new StartError('This version of pg-boss takes jobs in a way this server does not know.');
}
