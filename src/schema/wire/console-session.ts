import { Type, type Static } from 'typebox';
import { WhoAmI } from '../platform/deployment/whoami.ts';
import { buildClosedSchema, buildEnumSchema } from '../types.ts';

/** Why a session of the console is over: its time is up, its key is not valid any more, or the user left. */
const REASONS = ['ended', 'revoked', 'signed_out'] as const;
export type EndOfSession = (typeof REASONS)[number];

export const SignIn = buildClosedSchema({
  api_key: Type.String({ minLength: 1, maxLength: 1024 }),
});

/** Who is signed in to the console, and how others may sign in. */
export const BrowserSession = Type.Object({
  signed_in: Type.Boolean(),
  ...Type.Partial(WhoAmI).properties,
  options: Type.Object({ api_key: Type.Boolean({ description: 'Whether an API key is enough.' }) }),
  reason: Type.Optional(
    buildEnumSchema(REASONS, { description: 'Why the session that the browser had is over.' }),
  ),
});
export type BrowserSession = Static<typeof BrowserSession>;

export type NotSignedIn = { detail: string; reason: EndOfSession };
