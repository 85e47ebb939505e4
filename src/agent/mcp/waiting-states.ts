import type { RequestStateCodec, ServerContext } from '@modelcontextprotocol/server';
import type { SigningKeys } from '../auth/signing-keys.ts';
import type { McpPackage } from './package.ts';

/** Where a run waits, and for the answers to which questions, as the client carries it to its next request. */
export type WaitingCall = { thread_id: string; assistant_id: string; questions: string[] };

/** Seconds in which a person may answer: a week. */
const LIFE = 7 * 24 * 3600;

/**
 * Signs and reads the state that a client carries between two requests. It is bound to the caller: another one gets
 * nowhere with it. `verify` throws for a state that this deployment did not sign for the caller, or too long ago.
 */
export function buildStateCodec(
  { createRequestStateCodec }: McpPackage,
  signing: SigningKeys,
  identity: string,
): RequestStateCodec<WaitingCall> {
  // Most requests sign and read nothing.
  const buildCodecs = (): RequestStateCodec<WaitingCall>[] =>
    signing
      .of('mcp state')
      .map((key) =>
        createRequestStateCodec<WaitingCall>({ key, ttlSeconds: LIFE, bind: () => identity }),
      );
  return {
    mint: (waiting, context) => buildCodecs()[0]!.mint(waiting, context),
    verify: (state: string, context: ServerContext) =>
      Promise.any(buildCodecs().map((codec) => codec.verify(state, context))),
  };
}
