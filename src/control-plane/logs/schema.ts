import { Type, type Static } from 'typebox';
import {
  buildClosedSchema,
  buildDateTimeSchema,
  buildNullableSchema,
  buildEnumSchema,
  buildUuidSchema,
  buildOptionalNullable,
} from '../../schema/types.ts';

const LEVELS = ['DEBUG', 'INFO', 'WARNING', 'ERROR', 'CRITICAL'] as const;
export const logFields = {
  order: Type.Optional(buildEnumSchema(['asc', 'desc'], { default: 'asc' })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, default: 50 })),
  offset: buildOptionalNullable(
    Type.String({ maxLength: 1024, description: 'next_offset of the previous page.' }),
  ),
  start_time: buildOptionalNullable(buildDateTimeSchema('Not before.')),
  end_time: buildOptionalNullable(buildDateTimeSchema('Before.')),
  level: buildOptionalNullable(
    buildEnumSchema(LEVELS, { description: 'Lines of this level or above.' }),
  ),
  query: buildOptionalNullable(
    Type.String({ maxLength: 1024, description: 'Part of the message.' }),
  ),
  run_id: buildOptionalNullable(buildUuidSchema('Only lines about this run.')),
};

export const LogQuery = buildClosedSchema(logFields);
export type LogQuery = Static<typeof LogQuery>;

const { level, query, run_id } = logFields;
export const FollowQuery = buildClosedSchema({
  level,
  query,
  run_id,
  tail: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 1000,
      default: 100,
      description: 'How many past lines to begin with.',
    }),
  ),
});
export type FollowQuery = Static<typeof FollowQuery>;

/** Of a revision, the lines of its build may be followed, too. */
export const FollowRevisionQuery = buildClosedSchema({
  ...FollowQuery.properties,
  type: Type.Optional(buildEnumSchema(['build', 'deploy'], { default: 'deploy' })),
});

export const LogEntry = Type.Object({
  id: Type.String(),
  timestamp: buildDateTimeSchema('When the line was written.'),
  level: buildEnumSchema(LEVELS),
  message: Type.String(),
});
export type LogEntry = Static<typeof LogEntry>;

export const LogPage = Type.Object({
  logs: Type.Array(LogEntry),
  next_offset: buildNullableSchema(
    Type.String({
      description: 'Null when the page is empty. To find later lines, send the last offset again.',
    }),
  ),
  pods_left_out: Type.Integer({
    description: 'Pods whose logs were not read, because there are more than 20.',
  }),
});
export type LogPage = Static<typeof LogPage>;
