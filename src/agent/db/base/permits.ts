import { wrapParameter } from './plans.ts';
import type { Json } from '../../../schema/json.ts';

/**
 * The part of an aggregate that a caller may see: the records whose metadata contains one of these objects. Undefined
 * lets everything through; an empty list, nothing.
 */
export type Patterns = Json[] | undefined;

/** Returns the value of the parameter that `permits` reads. */
export const encodePatterns = (patterns: Patterns): string | null =>
  patterns === undefined ? null : JSON.stringify(patterns);

/**
 * Returns the condition that metadata contains one of the patterns of a parameter; null lets everything through. The
 * text does not depend on the patterns, so that a statement with it is prepared once and keeps its plan.
 */
export const buildPermitSql = (metadata: string, parameter: string): string => {
  const patterns = wrapParameter(`${parameter}::jsonb`);
  return `(${patterns} is null or exists (select 1 from jsonb_array_elements(${patterns}) f (pattern) where ${metadata} @> f.pattern))`;
};

/** Returns the same condition for a search, which the index on metadata serves. */
export const buildSearchPermitSql = (
  metadata: string,
  patterns: Patterns,
  parameter: (value: unknown) => string,
): string[] =>
  patterns === undefined
    ? []
    : [`${metadata} @> any(${parameter(patterns.map((one) => JSON.stringify(one)))}::jsonb[])`];

/** Returns the condition that the thread of a row may be touched. */
export const buildThreadPermitSql = (threadId: string, parameter: string): string =>
  `(${wrapParameter(`${parameter}::jsonb`)} is null or exists (
    select 1 from gx.thread p where p.thread_id = ${threadId} and ${buildPermitSql('p.metadata', parameter)}))`;
