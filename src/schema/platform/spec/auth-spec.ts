import { Type, type Static } from 'typebox';
import {
  buildClosedSchema,
  type CelRule,
  buildEnumSchema,
  buildOptionalFields,
} from '../../types.ts';

/** Keys that open an agent: the deployment's own, those of its tenant for the REST API too, or none is asked for. */
export const AUTH_MODES = ['key', 'tenant', 'open'] as const;

/** Addresses that an issuer's keys may come from. Keys sent in clear text could be anybody's. */
const TRUSTWORTHY = '^(https://|http://(localhost|127\\.0\\.0\\.1)[:/])[^\\s]+$';

/** Who may call the agents of a revision, unless their gx.json names handlers. Each name is one word, in REST too. */
export const AuthSpec = buildClosedSchema(
  {
    ...buildOptionalFields({
      mode: buildEnumSchema(AUTH_MODES, {
        description:
          "key: callers with the deployment's key. tenant: callers with that key, or with a key of its tenant for this API, each with its role. open: anyone. Default key.",
      }),
      issuer: Type.String({
        maxLength: 2048,
        pattern: TRUSTWORTHY,
        description: 'Also accept tokens (JWT) of this issuer: the value of their `iss` claim.',
      }),
      audiences: Type.Array(Type.String({ minLength: 1, maxLength: 512, pattern: '^[^,]+$' }), {
        minItems: 1,
        maxItems: 16,
        description: 'Required with an issuer: `aud` of a token must be one of them.',
      }),
      jwks: Type.String({
        maxLength: 2048,
        pattern: TRUSTWORTHY,
        description: "URL of the issuer's keys (JWKS), if its discovery document does not name it.",
      }),
      roles: Type.String({
        minLength: 1,
        maxLength: 256,
        description:
          "The claim that holds the token's role, as a string or a list: read may only read, write and admin may do everything, and a token with none of them is refused. Without this field, every token may do everything.",
      }),
    }),
  },
  {
    description:
      'Who may call the agents. A change makes a new revision. Handlers of `auth.path` run first.',
  },
);
export type AuthSpec = Static<typeof AuthSpec>;

const PATH = 'template.sourceRevisionConfig.auth';

/** Returns the faults of a combination of fields. Each sentence begins with the field's name. */
export function checkAuthSpec({ mode, issuer, audiences, jwks, roles }: AuthSpec): string[] {
  const withoutIssuer = Object.entries({ audiences, jwks, roles }).filter(
    ([, value]) => value !== undefined && issuer === undefined,
  );
  return [
    ...(issuer !== undefined && mode === 'open' ? ['issuer: not while mode is open'] : []),
    ...(issuer !== undefined && audiences === undefined
      ? ['audiences: required with an issuer']
      : []),
    ...withoutIssuer.map(([name]) => `${name}: only with an issuer`),
  ];
}

/** Returns the same rules for the API server. */
export function buildAuthRules(): CelRule[] {
  const auth = `self.${PATH}`;
  const given = `has(self.template.sourceRevisionConfig) && has(${auth})`;
  const buildRule = (name: string, holds: string, message: string): CelRule => ({
    rule: `!(${given}) || ${holds}`,
    message: `${PATH}.${name}: ${message}`,
  });
  const has = (name: string): string => `has(${auth}.${name})`;
  return [
    buildRule(
      'issuer',
      `!(${has('issuer')} && ${has('mode')} && ${auth}.mode == 'open')`,
      'not while mode is open',
    ),
    buildRule('audiences', `!${has('issuer')} || ${has('audiences')}`, 'required with an issuer'),
    buildRule('audiences', `!${has('audiences')} || ${has('issuer')}`, 'only with an issuer'),
    buildRule('jwks', `!${has('jwks')} || ${has('issuer')}`, 'only with an issuer'),
    buildRule('roles', `!${has('roles')} || ${has('issuer')}`, 'only with an issuer'),
  ];
}
