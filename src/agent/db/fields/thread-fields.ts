import { THREAD_FIELDS, type Thread } from '../../../schema/agent/thread.ts';
import { openRows } from '../../encryption/codec.ts';
import type { Db } from '../base/pool.ts';
import { runErrorPlace } from './run-fields.ts';
import { buildThreadInterruptsPlace, buildThreadValuesPlace, VALUES } from './thread-values.ts';

/* This file knows how fields of threads are read, and which of them are encrypted. */

export const UNFINISHED = `exists (select 1 from gx.run r where r.thread_id = t.thread_id and r.status in ('pending', 'running'))`;
export const THREAD_STATUS = `case when ${UNFINISHED} then 'busy' else t.status end`;

const EXPRESSIONS: Record<string, string> = {
  status: `${THREAD_STATUS} as status`,
  values: `${VALUES} as "values"`,
};
/** Returns the columns of threads `t`, as SQL. */
export const buildThreadColumns = (names: readonly string[]): string =>
  names.map((name) => EXPRESSIONS[name] ?? `t.${name}`).join(', ');
export const ALL_OF_THREAD = buildThreadColumns(THREAD_FIELDS);

/** Fields of a thread that only those can open who know its id. */
export const OF_ONE_THREAD: readonly string[] = ['values', 'interrupts', 'error'];

/** Opens rows of threads. Those with `OF_ONE_THREAD` have the thread's id. */
export const openThreads = <R extends Partial<Thread>>({ codec }: Db, rows: R[]): Promise<R[]> =>
  openRows<R>(codec, rows, {
    metadata: 'named',
    config: 'named',
    values: ({ thread_id }) => buildThreadValuesPlace(thread_id!),
    interrupts: ({ thread_id }) => buildThreadInterruptsPlace(thread_id!),
    error: ({ thread_id }) => runErrorPlace(thread_id!),
  });
