import { Type, type Static } from 'typebox';
import { buildAnySchema, buildJsonObjectSchema, buildMetadataSchema } from './agent-types.ts';
import { buildDateTimeSchema, buildNullableSchema, buildUuidSchema } from '../types.ts';

const buildCommentSchema = (maxLength: number) =>
  Type.Optional(buildNullableSchema(Type.String({ maxLength })));

/** An opinion of a person or a program about a run, under one of the keys that the run was made with. */
export const FeedbackGiven = Type.Object({
  score: Type.Optional(
    Type.Unsafe<number | boolean | null>({ type: ['number', 'boolean'], nullable: true }),
  ),
  value: Type.Optional(buildAnySchema('A word or anything else in place of a number.')),
  comment: buildCommentSchema(50_000),
  correction: Type.Optional(buildNullableSchema(buildJsonObjectSchema('The right answer.'))),
  metadata: Type.Optional(buildNullableSchema(buildMetadataSchema())),
});
export type FeedbackGiven = Static<typeof FeedbackGiven>;

/** Characters. Each takes at most 9 bytes in an address, and a server reads 16 KB of address and headers together. */
const LINKED = 1000;

/** The part of it that a link in a page or mail can carry. */
export const FeedbackLink = Type.Object({
  score: Type.Optional(Type.Number()),
  value: Type.Optional(Type.String()),
  comment: buildCommentSchema(LINKED),
});

export const Feedback = Type.Object({
  run_id: buildUuidSchema(''),
  key: Type.String(),
  score: buildNullableSchema(Type.Number()),
  value: buildAnySchema(''),
  comment: buildNullableSchema(Type.String()),
  correction: buildNullableSchema(buildJsonObjectSchema('')),
  metadata: buildNullableSchema(buildJsonObjectSchema('')),
  given_at: buildDateTimeSchema('When it was given last.'),
});
export type Feedback = Static<typeof Feedback>;
