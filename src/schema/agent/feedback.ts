import { Type, type Static } from 'typebox';
import { Anything, JsonObject, Metadata } from './agent-types.ts';
import { DateTime, Nullable, Uuid } from '../types.ts';

const comment = (maxLength: number) => Type.Optional(Nullable(Type.String({ maxLength })));

/** An opinion of a person or a program about a run, under one of the keys that the run was made with. */
export const FeedbackGiven = Type.Object({
  score: Type.Optional(Type.Unsafe<number | boolean | null>({ type: ['number', 'boolean'], nullable: true })),
  value: Type.Optional(Anything('A word or anything else in place of a number.')),
  comment: comment(50_000),
  correction: Type.Optional(Nullable(JsonObject('The right answer.'))),
  metadata: Type.Optional(Nullable(Metadata())),
});
export type FeedbackGiven = Static<typeof FeedbackGiven>;

/** Characters. Each takes at most 9 bytes in an address, and a server reads 16 KB of address and headers together. */
const LINKED = 1000;

/** The part of it that a link in a page or mail can carry. */
export const FeedbackLink = Type.Object({
  score: Type.Optional(Type.Number()),
  value: Type.Optional(Type.String()),
  comment: comment(LINKED),
});

export const Feedback = Type.Object({
  run_id: Uuid(''),
  key: Type.String(),
  score: Nullable(Type.Number()),
  value: Anything(''),
  comment: Nullable(Type.String()),
  correction: Nullable(JsonObject('')),
  metadata: Nullable(JsonObject('')),
  given_at: DateTime('When it was given last.'),
});
export type Feedback = Static<typeof Feedback>;
