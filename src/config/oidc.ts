import type { SettingsReader } from './env.ts';

/** Algorithms that sign with a private key of the issuer. `none` and HS* (a shared secret) can't be configured. */
const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
] as const;
/** Algorithms with which identity providers sign by default. */
const USUAL_ALGORITHMS: readonly (typeof ALGORITHMS)[number][] = ['RS256', 'ES256'];

/** The issuer whose bearer tokens are accepted, and the meaning of their claims. */
export type OidcConfig = NonNullable<ReturnType<typeof readOidcConfig>>;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const DEPENDENT = [
  'GX_OIDC_AUDIENCE',
  'GX_OIDC_JWKS_URL',
  'GX_OIDC_TENANT_ID',
  'GX_OIDC_TENANT_CLAIM',
  'GX_OIDC_ROLE_CLAIM',
];

/** Reads the settings of bearer tokens. Without an issuer it returns undefined, and no token is accepted. */
export function readOidcConfig(settings: SettingsReader) {
  const issuer = settings.readOptional(['GX_OIDC_ISSUER']);
  if (issuer === undefined) {
    const orphan = DEPENDENT.find((name) => settings.readOptional([name]) !== undefined);
    if (orphan !== undefined) settings.addProblem(`${orphan} is set without GX_OIDC_ISSUER`);
    return undefined;
  }
  const jwksUrl = settings.readOptional(['GX_OIDC_JWKS_URL']);
  for (const [name, url] of Object.entries({ GX_OIDC_ISSUER: issuer, GX_OIDC_JWKS_URL: jwksUrl }))
    if (url !== undefined && !isTrustworthy(url))
      settings.addProblem(`${name} must be an https address (http only on localhost)`);
  const audiences = settings.readWords(['GX_OIDC_AUDIENCE']);
  if (audiences.length === 0)
    settings.addProblem('GX_OIDC_AUDIENCE is not set (the value of aud in tokens for this API)');
  const named = settings.readSomeOf(['GX_OIDC_ALGORITHMS'], ALGORITHMS);
  const algorithms: string[] = named.length > 0 ? named : [...USUAL_ALGORITHMS];
  return {
    /** The value of `iss`. The discovery document lies below this address. */
    issuer,
    /** `aud` must contain one of them. */
    audiences,
    /** Where the keys are, if not where the discovery document says. */
    jwksUrl,
    algorithms,
    clockSkewSeconds: settings.readInteger(['GX_OIDC_CLOCK_SKEW_SECONDS'], 30, {
      min: 0,
      max: 300,
    }),
    /** The tenant of every token, or the claim that names one or several tenants. */
    tenant: readTenantSource(settings),
    roleClaim: settings.readText(['GX_OIDC_ROLE_CLAIM'], 'role'),
    adminValues: readWordsOr(settings, 'GX_OIDC_ADMIN_VALUES', 'admin'),
    writeValues: readWordsOr(settings, 'GX_OIDC_WRITE_VALUES', 'write'),
    readValues: readWordsOr(settings, 'GX_OIDC_READ_VALUES', 'read'),
  };
}

function readTenantSource(settings: SettingsReader): { id: string } | { claim: string } {
  const id = settings.readOptional(['GX_OIDC_TENANT_ID'])?.toLowerCase();
  const claim = settings.readOptional(['GX_OIDC_TENANT_CLAIM']);
  if (id === undefined) return { claim: claim ?? 'tenant_id' };
  if (!UUID.test(id)) settings.addProblem('GX_OIDC_TENANT_ID must be a uuid');
  if (claim !== undefined)
    settings.addProblem('GX_OIDC_TENANT_ID and GX_OIDC_TENANT_CLAIM exclude each other');
  return { id };
}

function readWordsOr(settings: SettingsReader, name: string, fallback: string): string[] {
  const words = settings.readWords([name]);
  return words.length > 0 ? words : [fallback];
}

/** Returns true for addresses that keys may come from. Keys sent in clear text could be anybody's. */
export function isTrustworthy(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname } = new URL(text);
  return (
    protocol === 'https:' ||
    (protocol === 'http:' && ['localhost', '127.0.0.1', '[::1]'].includes(hostname))
  );
}
