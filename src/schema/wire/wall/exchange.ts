import { Type, type Static, type TSchema, type TUnsafe } from 'typebox';
import { buildEnumSchema } from '../../types.ts';
import { Bytes, buildMessageSchema } from './forms.ts';

/*
 * HTTP between the server and the other side of a wall, in both directions, as messages in the message `exchange`.
 *
 * Either side asks: `ask` with a number of its own, then the body of the request. The other side answers with one
 * `answer` and its body, or with `refused`. A body crosses in `chunk`s and is over with its `end`, which tells of a
 * failure if the body broke off. Nothing of a body is sent before its reader asks for it: `more` lets so many bytes
 * cross. So a slow reader stops the writer, and a body that nobody reads stays where it is. The `room` of an `ask` lets
 * so many bytes of the answer cross before that: a short answer then waits for no message. A writer may ignore it.
 * `stop` says that its reader wants no more. `leave` says that the asker wants no answer any more. A message of an
 * exchange that is over is ignored.
 */

/** Names and values in their order; a name may come several times. */
export const HeaderPairs = Type.Array(Type.Tuple([Type.String(), Type.String()]));
export type HeaderPairs = Static<typeof HeaderPairs>;

/** `url` is absolute. */
const RequestHead = Type.Object({
  method: Type.String(),
  url: Type.String(),
  headers: HeaderPairs,
  hasBody: Type.Boolean(),
});
export type RequestHead = Static<typeof RequestHead>;

const AnswerHead = Type.Object({
  status: Type.Integer(),
  headers: HeaderPairs,
  hasBody: Type.Boolean(),
});
export type AnswerHead = Static<typeof AnswerHead>;

/** The answer to a request that failed. */
export const Refusal = Type.Object({
  status: Type.Integer(),
  message: Type.String(),
  headers: Type.Record(Type.String(), Type.String()),
});
export type Refusal = Static<typeof Refusal>;

/** Which of the two bodies of an exchange. */
const BodyOf = buildEnumSchema(['request', 'answer']);
export type BodyOf = Static<typeof BodyOf>;

const exchange = Type.Integer();
const ofBody = { exchange, of: BodyOf };

const Ask = buildMessageSchema('ask', {
  exchange,
  head: RequestHead,
  room: Type.Optional(Type.Integer()),
});

const Others = [
  buildMessageSchema('leave', { exchange }),
  buildMessageSchema('answer', { exchange, head: AnswerHead }),
  buildMessageSchema('refused', { exchange, ...Refusal.properties }),
  buildMessageSchema('chunk', { ...ofBody, bytes: Bytes }),
  buildMessageSchema('end', { ...ofBody, failure: Type.Optional(Type.String()) }),
  buildMessageSchema('more', { ...ofBody, bytes: Type.Integer() }),
  buildMessageSchema('stop', ofBody),
] as const;

export type ExchangeMessage<Purpose> =
  | (Static<typeof Ask> & { purpose: Purpose })
  | Static<(typeof Others)[number]>;

/** Describes the messages of a side that asks for the purpose. */
export const buildExchangeSchema = <P extends TSchema>(
  purpose: P,
): TUnsafe<ExchangeMessage<Static<P>>> =>
  Type.Unsafe<ExchangeMessage<Static<P>>>(
    Type.Union([Type.Object({ ...Ask.properties, purpose }), ...Others]),
  );

/** The messages of a side that only answers. */
export const ExchangeAnswer = Type.Unsafe<ExchangeMessage<never>>(Type.Union([...Others]));

/** The purpose of a request that the user's code makes by itself. */
export const OwnCall = Type.Object({ want: Type.Literal('call') });
export type OwnCall = Static<typeof OwnCall>;
