import { Problem } from '../../errors.ts';
import type { Patterns } from '../db/base/permits.ts';
import { type Json, isObject } from '../../schema/json.ts';

/*
 * The filters that handlers return, as patterns. Every operator asks for something that metadata contains, so a filter
 * is a list of alternatives, each an object that the metadata must contain.
 */

type Pattern = Json;

/** Groups of groups are as deep as filters go. */
const MOST_DEPTH = 2;
const MOST_GROUPS = 20;
const MOST_PATTERNS = 200;

/** Returns the filter as patterns. Throws a `Problem` (500) that says what is wrong with the handler's filter. */
export function toFilterPatterns(filter: unknown): NonNullable<Patterns> {
  return buildAlternatives(filter, 0);
}

function buildAlternatives(filter: unknown, depth: number): Pattern[] {
  if (!isObject(filter)) return refuse('a filter must be an object');
  const asked = Object.entries(filter).map(([key, wanted]) =>
    key === '$or' || key === '$and'
      ? buildGroupPatterns(key, wanted, depth)
      : buildFieldPatterns(key, wanted),
  );
  return asked.reduce(mergeAlternatives, [{}]);
}

function buildGroupPatterns(operator: '$or' | '$and', groups: unknown, depth: number): Pattern[] {
  if (!Array.isArray(groups) || groups.length < 2)
    return refuse(`${operator} must be a list of at least two filters`);
  if (groups.length > MOST_GROUPS)
    return refuse(`${operator} must have at most ${MOST_GROUPS} filters`);
  if (depth >= MOST_DEPTH)
    return refuse(`${operator} must not be nested deeper than ${MOST_DEPTH} levels`);
  const all = groups.map((group) => buildAlternatives(group, depth + 1));
  return operator === '$or' ? requireBounded(all.flat()) : all.reduce(mergeAlternatives);
}

function buildFieldPatterns(key: string, wanted: unknown): Pattern[] {
  if (key.startsWith('$'))
    return refuse(`${key} is none of $or, $and; $eq and $contains stand within a field`);
  if (!isObject(wanted)) return [{ [key]: requireScalar(wanted, key) }];
  const operators = Object.entries(wanted);
  if (operators.length === 0) return refuse(`${key} must have $eq or $contains`);
  const asked = operators.map(([operator, operand]): Pattern[] => [
    { [key]: readOperand(operator, operand, key) },
  ]);
  return asked.reduce(mergeAlternatives);
}

function readOperand(operator: string, operand: unknown, key: string): unknown {
  if (operator === '$eq') return requireScalar(operand, key);
  if (operator !== '$contains') return refuse(`${key}.${operator} is none of $eq, $contains`);
  return [operand].flat().map((one) => requireScalar(one, key));
}

function requireScalar(value: unknown, key: string): unknown {
  if (value === null || ['string', 'number', 'boolean'].includes(typeof value)) return value;
  return refuse(`${key} must be compared with a text, a number, a boolean or null`);
}

/** Returns the alternatives that fulfil one of each list. */
function mergeAlternatives(some: Pattern[], others: Pattern[]): Pattern[] {
  return requireBounded(
    some.flatMap((one) =>
      others.map((other) => mergePatterns(one, other)).filter((pattern) => pattern !== undefined),
    ),
  );
}

/** Returns the pattern that contains both; undefined when none can. Lists stand for `$contains` alone. */
function mergePatterns(one: Pattern, other: Pattern): Pattern | undefined {
  const all = { ...one };
  for (const [key, value] of Object.entries(other)) {
    const before = all[key];
    if (Array.isArray(before) && Array.isArray(value))
      all[key] = [...(before as unknown[]), ...(value as unknown[])];
    else if (Object.hasOwn(all, key) && before !== value) return undefined;
    else all[key] = value;
  }
  return all;
}

function requireBounded(patterns: Pattern[]): Pattern[] {
  return patterns.length > MOST_PATTERNS
    ? refuse(`a filter must have at most ${MOST_PATTERNS} alternatives`)
    : patterns;
}

function refuse(problem: string): never {
  throw new Problem(
    500,
    `The authorization handler returned a filter that can't be applied: ${problem}.`,
  );
}
