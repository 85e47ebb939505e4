import { isLong } from '../../../schema/wire/wall/run-in-thread.ts';
import type { Place } from '../../encryption/codec.ts';
import { toFieldText } from '../base/json-field.ts';
import type { Tail } from './long-states.ts';
import type { Db } from '../base/pool.ts';
import { isComposite } from '../../../schema/json.ts';

/*
 * How the last state of a thread stands in its row. Searches look into it, so it is `jsonb`. Postgres needs 5 ms to
 * make that of 100 kB, at the end of each run. So a long state is kept as text, and only its plain fields are `jsonb`.
 *
 * `long_values` is the whole text. It counts while `long_values_at` is the row's `state_updated_at`. While
 * `long_tail_at` is, the state is the first `long_kept` characters of `long_values` with `long_tail` behind them
 * (`long-states.ts`). Otherwise `values` has the whole state. A state may always be written whole.
 */

export const buildThreadValuesPlace = (thread_id: string): Place => ({
  kind: 'thread.values',
  of: thread_id,
});

export const buildThreadInterruptsPlace = (thread_id: string): Place => ({
  kind: 'thread.interrupts',
  of: thread_id,
});

/** A state as JSON. `plain` has its plain fields, where they are known. */
export type StateText = { values: string | undefined; plain?: string | undefined };

/** Returns true for a field that a search finds by an index. */
export const isPlainField = (value: unknown): boolean => !isComposite(value);

const encodePlainFields = (state: object): string =>
  JSON.stringify(
    Object.fromEntries(Object.entries(state).filter(([, value]) => isPlainField(value))),
  );

/**
 * The contents of the columns: `values` is null where they stay, `long` is the whole text of a long state without a
 * tail.
 */
export type ValuesColumns = { values: string | null; long: string | null; tail?: Tail | undefined };

/** `tailOf` returns how the row gets a long state that mostly stands there; undefined where it is written whole. */
function buildValuesColumns(
  { values, plain }: StateText,
  tailOf?: (long: string) => Tail | undefined,
): ValuesColumns {
  if (values === undefined) return { values: null, long: null };
  const text = toFieldText(values);
  if (!isLong(values)) return { values: text, long: null };
  const tail = tailOf?.(text);
  return {
    values: toFieldText(plain ?? encodePlainFields(JSON.parse(values) as object)),
    long: tail === undefined ? text : null,
    tail,
  };
}

/**
 * Does the same where values may be encrypted. Such a state is text, however short, because no search looks into it and
 * Postgres would gain nothing by taking it apart. It has no tail: no part of the encrypted text stays the same.
 */
export async function sealValuesColumns(
  { codec }: Db,
  thread_id: string,
  state: StateText,
  tailOf?: (long: string) => Tail | undefined,
): Promise<ValuesColumns> {
  if (!codec.encrypts || state.values === undefined) return buildValuesColumns(state, tailOf);
  return {
    values: '{}',
    long: await codec.seal(buildThreadValuesPlace(thread_id), toFieldText(state.values)),
  };
}

/** Does the same for a state that is no text yet. */
export const sealStateColumns = (
  db: Db,
  thread_id: string,
  state: unknown,
): Promise<ValuesColumns> =>
  sealValuesColumns(db, thread_id, {
    values: state === undefined || state === null ? undefined : JSON.stringify(state),
  });

const IS_WHOLE = 't.long_values_at = t.state_updated_at';
const HAS_TAIL = 't.long_tail_at = t.state_updated_at';

/** The text of a long state of a thread `t`; null where the state is not long. */
export const LONG_TEXT = `case when ${IS_WHOLE} then t.long_values when ${HAS_TAIL} then left(t.long_values, t.long_kept) || t.long_tail end`;

/** The state of a thread `t`, as JSON. */
export const VALUES = `coalesce((${LONG_TEXT})::json, t."values"::json)`;

/** The state of a thread `t` as `jsonb`, which takes long where the state is. */
export const VALUES_TO_SEARCH = `coalesce((${LONG_TEXT})::jsonb, t."values")`;

const NO_TAIL = 'long_kept = null, long_tail = null, long_tail_at = null';

/**
 * The assignments of an update that writes a state whole, as SQL; the parameter is its text, or null where it is not
 * long.
 */
export const buildWholeStateSql = (long: string): string =>
  `long_values = ${long}, long_values_at = case when ${long}::text is not null then now() end, ${NO_TAIL}`;

/** Writes the thread's state whole, so that nothing that was removed from it stays behind. */
export async function storeStateWhole(db: Db, threadId: string): Promise<void> {
  await db.query({
    text: `update gx.thread t set long_values = ${LONG_TEXT}, long_values_at = t.state_updated_at, ${NO_TAIL}
      where t.thread_id = $1 and t.long_tail is not null and ${LONG_TEXT} is not null`,
    values: [threadId],
  });
}
