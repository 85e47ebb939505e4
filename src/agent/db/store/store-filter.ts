import { Invalid } from '../../../errors.ts';
import { isObject } from '../../../schema/json.ts';

/*
 * The conditions by which items of the store are found, as SQL. `parameter` takes a value and returns its place in the
 * statement.
 */

type Parameter = (value: unknown) => string;

const COMPARISONS: Record<string, string> = {
  $eq: '=',
  $ne: '<>',
  $gt: '>',
  $gte: '>=',
  $lt: '<',
  $lte: '<=',
};
const LISTS: Record<string, string> = { $in: '= any', $nin: '<> all' };

/** LangGraph's operators. */
export const OPERATORS = [...Object.keys(COMPARISONS), ...Object.keys(LISTS)];

/**
 * Returns the conditions of a filter, whose fields have an exact value or operators. All exact values together are one
 * condition. A name that begins with `$` but is no operator is refused, because it would be searched for as a value.
 */
export function filterConditions(filter: Record<string, unknown>, parameter: Parameter): string[] {
  const fields = Object.entries(filter);
  const exact = Object.fromEntries(fields.filter(([, wanted]) => !hasOperators(wanted)));
  const holds =
    Object.keys(exact).length === 0 ? [] : [`value @> ${parameter(JSON.stringify(exact))}::jsonb`];
  const compared = fields.flatMap(([field, wanted]) =>
    hasOperators(wanted) ? buildComparisons(field, wanted, parameter) : [],
  );
  return [...holds, ...compared];
}

const hasOperators = (wanted: unknown): wanted is Record<string, unknown> =>
  isObject(wanted) && Object.keys(wanted).some((name) => name.startsWith('$'));

function buildComparisons(
  field: string,
  wanted: Record<string, unknown>,
  parameter: Parameter,
): string[] {
  return Object.entries(wanted).map(([name, operand]) => {
    const at = `value->${parameter(field)}::text`;
    if (Object.hasOwn(COMPARISONS, name))
      return `${at} ${COMPARISONS[name]} ${parameter(JSON.stringify(operand))}::jsonb`;
    if (!Object.hasOwn(LISTS, name))
      return refuse([field, name], `is none of ${OPERATORS.join(', ')}`);
    if (!Array.isArray(operand)) return refuse([field, name], 'must be a list');
    return `${at} ${LISTS[name]}(${parameter(operand.map((one) => JSON.stringify(one)))}::jsonb[])`;
  });
}

function refuse(place: string[], msg: string): never {
  throw new Invalid([{ loc: ['body', 'filter', ...place], msg, type: 'value_error' }]);
}

/** Returns the conditions for namespaces that begin, or end, with these labels; `*` stands for any one label. */
export function buildLabelConditions(
  labels: string[],
  at: 'prefix' | 'suffix',
  parameter: Parameter,
): string[] {
  const first = at === 'prefix' ? '0' : `cardinality(namespace) - ${labels.length}`;
  const fixed = labels.flatMap((label, place) =>
    label === '*' ? [] : [`namespace[${first} + ${place + 1}] = ${parameter(label)}`],
  );
  return labels.length === 0 ? [] : [`cardinality(namespace) >= ${labels.length}`, ...fixed];
}
