/*
 * HTTP between the server and a thread, in both directions, over what carries the messages of the two in their order.
 *
 * Either side asks: `ask` with a number of its own, then the body of the request. The other side answers with one
 * `answer` and its body, or with `refused`. A body crosses in `chunk`s and is over with its `end`, which tells of a
 * failure if the body broke off. Nothing of a body is sent before its reader asks for it: `more` lets so many bytes
 * cross. So a slow reader stops the writer, and a body that nobody reads stays where it is. `stop` says that its reader
 * wants no more. `leave` says that the asker wants no answer any more. A message of an exchange that is over is
 * ignored.
 */

/** Names and values in their order; a name may come several times. */
export type HeaderPairs = [name: string, value: string][];

/** `url` is absolute. */
export type RequestHead = { method: string; url: string; headers: HeaderPairs; hasBody: boolean };

export type AnswerHead = { status: number; headers: HeaderPairs; hasBody: boolean };

/** Which of the two bodies of an exchange. */
export type BodyOf = 'request' | 'answer';

/** The purpose of a request that the user's code makes by itself. */
export type OwnCall = { want: 'call' };

export type ExchangeMessage<Purpose> =
  | { kind: 'ask'; exchange: number; head: RequestHead; purpose: Purpose }
  | { kind: 'leave'; exchange: number }
  | { kind: 'answer'; exchange: number; head: AnswerHead }
  | { kind: 'refused'; exchange: number; status: number; message: string; headers: Record<string, string> }
  | { kind: 'chunk'; exchange: number; of: BodyOf; bytes: Uint8Array }
  | { kind: 'end'; exchange: number; of: BodyOf; failure?: string }
  | { kind: 'more'; exchange: number; of: BodyOf; bytes: number }
  | { kind: 'stop'; exchange: number; of: BodyOf };
