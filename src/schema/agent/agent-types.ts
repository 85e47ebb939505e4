import { Type, type TSchema, type TUnsafe } from 'typebox';
import type { Json } from '../json.ts';
import { buildNullableSchema, buildEnumSchema } from '../types.ts';

/*
 * Parts that the agent server's records share. Bodies are open: keys that no schema names are ignored, so that newer
 * clients keep working.
 */

export const buildJsonObjectSchema = (description: string): TUnsafe<Json> =>
  Type.Unsafe<Json>({ type: 'object', description });

export const buildAnySchema = (description: string): TUnsafe<unknown> =>
  Type.Unsafe<unknown>({ description });

/** Describes one of two shapes. */
export const buildEitherSchema = <T>(
  first: TSchema,
  second: TSchema,
  description: string,
): TUnsafe<T> => Type.Unsafe<T>({ anyOf: [first, second], description });

export const buildLimitSchema = (fallback: number): TUnsafe<number> =>
  Type.Unsafe<number>({
    type: 'integer',
    minimum: 1,
    maximum: 1000,
    default: fallback,
    description: 'Maximum number of results.',
  });

export const buildOffsetSchema = (): TUnsafe<number> =>
  Type.Unsafe<number>({
    type: 'integer',
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    default: 0,
    description: 'Number of results to skip.',
  });

/** The largest number of the database's integer columns. */
export const LARGEST_INTEGER = 2_147_483_647;

export const buildSortOrderSchema = (): TUnsafe<'asc' | 'desc'> =>
  buildEnumSchema(['asc', 'desc'], { default: 'desc' });

/** Each label is an entry in the index that searches use. A thousand is far more than anybody reads. */
const MOST_LABELS = 1000;

export const buildMetadataSchema = (): TUnsafe<Json> =>
  Type.Unsafe<Json>({
    type: 'object',
    maxProperties: MOST_LABELS,
    description: 'Free labels; searches match on any subset of them.',
  });

/** `config` of an assistant or a run, LangGraph's RunnableConfig in this interface's spelling. */
export const buildGraphConfigSchema = (): TUnsafe<Json> =>
  Type.Unsafe<Json>({
    type: 'object',
    description: 'Settings of the graph for this call.',
    properties: {
      tags: { type: 'array', items: { type: 'string' } },
      recursion_limit: { type: 'integer', minimum: 1, maximum: LARGEST_INTEGER },
      max_concurrency: {
        type: 'integer',
        minimum: 1,
        maximum: LARGEST_INTEGER,
        nullable: true,
        description: 'Maximum number of tasks of a step that run at the same time.',
      },
      run_name: {
        type: 'string',
        nullable: true,
        description: 'The name of the run in traces and events.',
      },
      configurable: { type: 'object' },
      metadata: buildNullableSchema(buildMetadataSchema()),
    },
  });

export const buildCheckpointConfigSchema = (): TUnsafe<Json> =>
  Type.Unsafe<Json>({
    type: 'object',
    nullable: true,
    description: 'A checkpoint of the thread.',
    properties: {
      thread_id: { type: 'string', nullable: true },
      checkpoint_ns: { type: 'string', nullable: true },
      checkpoint_id: { type: 'string', nullable: true },
      checkpoint_map: { type: 'object', nullable: true },
    },
  });
