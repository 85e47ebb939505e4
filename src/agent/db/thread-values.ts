import { fieldText } from './json-field.ts';

/*
 * How the last state of a thread stands in its row. Searches look into it, so it is `jsonb`. Postgres needs 5 ms to
 * make that of 100 kB, at the end of each run. So a long state is kept as text, and only its plain fields are `jsonb`.
 */

/** Characters of JSON above which a state with fields is long. */
const LONG = 16_000;

/** A state as JSON. `plain` has its plain fields, where they are known. */
export type StateText = { values: string | undefined; plain?: string | undefined };

export const isLong = (values: string): boolean => values.length > LONG && values.startsWith('{');

/** Returns true for a field that a search finds by an index. */
export const isPlainField = (value: unknown): boolean => typeof value !== 'object' || value === null;

const plainFields = (state: object): string =>
  JSON.stringify(Object.fromEntries(Object.entries(state).filter(([, value]) => isPlainField(value))));

/** What the columns `values` and `long_values` get; null in the first leaves both as they are. */
export type ValuesColumns = [values: string | null, long: string | null];

export function valuesColumns({ values, plain }: StateText): ValuesColumns {
  if (values === undefined) return [null, null];
  return isLong(values) ? [fieldText(plain ?? plainFields(JSON.parse(values) as object)), fieldText(values)] : [fieldText(values), null];
}

/** Does the same for a state that is no text yet. */
export const valuesColumnsOf = (state: unknown): ValuesColumns =>
  state === undefined || state === null ? [null, null] : valuesColumns({ values: JSON.stringify(state) });

const IS_LONG = 't.long_values_at = t.state_updated_at';

/** The state of a thread `t`, as JSON. */
export const VALUES = `case when ${IS_LONG} then t.long_values::json else t."values"::json end`;

/** The state of a thread `t` as `jsonb`, which takes long where the state is. */
export const VALUES_TO_SEARCH = `case when ${IS_LONG} then t.long_values::jsonb else t."values" end`;
