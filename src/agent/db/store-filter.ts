import { Invalid } from '../../errors.ts';

/*
 * The conditions by which items of the store are found, as SQL. `parameter` takes a value and returns its place in the
 * statement.
 */

type Parameter = (value: unknown) => string;

const COMPARISONS: Record<string, string> = { $eq: '=', $ne: '<>', $gt: '>', $gte: '>=', $lt: '<', $lte: '<=' };
const LISTS: Record<string, string> = { $in: '= any', $nin: '<> all' };

/** LangGraph's operators. */
export const OPERATORS = [...Object.keys(COMPARISONS), ...Object.keys(LISTS)];

/**
 * Returns one condition for each field of the filter: an exact value, or operators. A name that begins with `$` but is
 * no operator is refused, because it would be searched for as a value.
 */
export function filterConditions(filter: Record<string, unknown>, parameter: Parameter): string[] {
  return Object.entries(filter).flatMap(([field, wanted]) => {
    const names = typeof wanted === 'object' && wanted !== null && !Array.isArray(wanted) ? Object.keys(wanted) : [];
    if (!names.some((name) => name.startsWith('$'))) return [`value @> ${parameter(JSON.stringify({ [field]: wanted }))}::jsonb`];
    return Object.entries(wanted as object).map(([name, operand]: [string, unknown]) => {
      const at = `value->${parameter(field)}::text`;
      if (Object.hasOwn(COMPARISONS, name)) return `${at} ${COMPARISONS[name]} ${parameter(JSON.stringify(operand))}::jsonb`;
      if (!Object.hasOwn(LISTS, name)) return refuse([field, name], `is none of ${OPERATORS.join(', ')}`);
      if (!Array.isArray(operand)) return refuse([field, name], 'must be a list');
      return `${at} ${LISTS[name]}(${parameter(operand.map((one) => JSON.stringify(one)))}::jsonb[])`;
    });
  });
}

function refuse(place: string[], msg: string): never {
  throw new Invalid([{ loc: ['body', 'filter', ...place], msg, type: 'value_error' }]);
}

/** Returns the conditions for namespaces that begin, or end, with these labels; `*` stands for any one label. */
export function labelConditions(labels: string[], at: 'prefix' | 'suffix', parameter: Parameter): string[] {
  const first = at === 'prefix' ? '0' : `cardinality(namespace) - ${labels.length}`;
  const fixed = labels.flatMap((label, place) => (label === '*' ? [] : [`namespace[${first} + ${place + 1}] = ${parameter(label)}`]));
  return labels.length === 0 ? [] : [`cardinality(namespace) >= ${labels.length}`, ...fixed];
}
