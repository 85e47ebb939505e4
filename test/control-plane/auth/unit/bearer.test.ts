import { SignJWT, UnsecuredJWT } from 'jose';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readControlPlaneConfig } from '../../../../src/config/platform/control-plane.ts';
import { Authenticator } from '../../../../src/control-plane/auth/authenticate.ts';
import { BearerTokens } from '../../../../src/control-plane/auth/bearer.ts';
import type { Problem } from '../../../../src/errors.ts';
import type { Kube } from '../../../../src/kube/kube.ts';
import { silentLog } from '../../../kit/log.ts';
import { startIssuer, type Issuer } from '../../kit/issuer.ts';

const TENANT = '33333333-3333-4333-8333-333333333333';
const OTHER = '44444444-4444-4444-8444-444444444444';
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

let issuer: Issuer;
beforeEach(async () => {
  issuer = await startIssuer();
});
afterEach(() => issuer.down().catch(() => undefined));

const seconds = (): number => Math.floor(Date.now() / 1000);
const member = (claims: Record<string, unknown> = {}, options = {}) =>
  issuer.token({ tenant_id: TENANT, role: 'write', ...claims }, options);

/** The gate as these settings configure it, with a clock of its own. */
function gateWith(settings: Record<string, string> = {}) {
  let time = 0;
  const clock = (): number => time;
  const { oidc } = readControlPlaneConfig({
    GX_OIDC_ISSUER: issuer.url,
    GX_OIDC_AUDIENCE: 'gx',
    ...settings,
  });
  if (oidc === undefined) throw new Error('no issuer is configured');
  const tokens = new BearerTokens({ config: oidc, log: silentLog(), clock });
  const gate = new Authenticator({ kube: {} as Kube, namespace: 'gx', log: silentLog(), tokens });
  const ask = (token: string, tenant?: string) =>
    gate.authenticate(
      { authorization: `Bearer ${token}`, ...(tenant !== undefined && { 'x-tenant-id': tenant }) },
      'read',
    );
  const refusal = async (token: string, tenant?: string): Promise<Problem> => {
    const outcome: unknown = await ask(token, tenant).catch((error: unknown) => error);
    expect(outcome).toHaveProperty('status');
    return outcome as Problem;
  };
  return { gate, ask, refusal, pass: (milliseconds: number) => (time += milliseconds) };
}

describe('a token of the configured issuer', () => {
  test('opens the API for its tenant, with its role', async () => {
    const { ask, gate } = gateWith();
    const caller = await ask(await member());
    expect(caller).toMatchObject({
      tenantId: TENANT,
      role: 'write',
      keyName: 'somebody',
      tenants: [TENANT],
    });
    expect(Date.parse(caller.expiresAt ?? '')).toBeGreaterThan(Date.now());
    const reader = await member({ role: 'read' });
    expect((await ask(reader)).role).toBe('read');
    await expect(
      gate.authenticate({ authorization: `bearer ${reader}` }, 'write'),
    ).rejects.toMatchObject({ status: 403 });
  });

  test.each<[string, Record<string, string>, Record<string, unknown>, string]>([
    [
      'in claims of other names',
      { GX_OIDC_TENANT_CLAIM: 'org', GX_OIDC_ROLE_CLAIM: 'groups' },
      { org: TENANT, groups: ['x', 'write'] },
      'write',
    ],
    [
      'in a claim named by an address',
      { GX_OIDC_TENANT_CLAIM: 'https://acme.example/tenant' },
      { 'https://acme.example/tenant': TENANT, role: 'read' },
      'read',
    ],
    [
      'in a claim inside another',
      { GX_OIDC_ROLE_CLAIM: 'realm_access.roles' },
      { tenant_id: TENANT, realm_access: { roles: ['read'] } },
      'read',
    ],
    [
      'among the words of a scope',
      { GX_OIDC_ROLE_CLAIM: 'scope', GX_OIDC_WRITE_VALUES: 'gx:write' },
      { tenant_id: TENANT, scope: 'openid gx:write' },
      'write',
    ],
    ['of an admin', {}, { tenant_id: TENANT, role: ['read', 'admin', 'write'] }, 'admin'],
    ['in none, with one tenant for all', { GX_OIDC_TENANT_ID: TENANT }, { role: 'write' }, 'write'],
    ['in capitals', {}, { tenant_id: TENANT.toUpperCase(), role: 'write' }, 'write'],
  ])('tells tenant and role %s', async (_, settings, claims, role) => {
    expect(await gateWith(settings).ask(await issuer.token(claims))).toMatchObject({
      tenantId: TENANT,
      role,
    });
  });

  test.each<[string, Record<string, unknown>, RegExp]>([
    ['no tenant', { tenant_id: undefined }, /tenant_id is missing/],
    ['a tenant that is no id', { tenant_id: 'acme' }, /tenant_id is not the id of a tenant/],
    ['no role', { role: undefined }, /role names no role/],
    ['a role that is none of this API', { role: ['owner'] }, /role names no role/],
  ])('that names %s is refused with 403', async (_, claims, sentence) => {
    expect(await gateWith().refusal(await member(claims))).toMatchObject({
      status: 403,
      message: expect.stringMatching(sentence),
    });
  });

  test('of several tenants needs X-Tenant-Id, which chooses one of them and no other', async () => {
    const { ask, refusal } = gateWith();
    const token = await member({ tenant_id: [TENANT, OTHER] });
    expect(await refusal(token)).toMatchObject({
      status: 403,
      message: expect.stringContaining('requires workspace specification'),
    });
    expect((await ask(token, OTHER.toUpperCase())).tenantId).toBe(OTHER);
    expect(await refusal(token, '55555555-5555-4555-8555-555555555555')).toMatchObject({
      status: 403,
    });
  });

  test('of one tenant is refused when X-Tenant-Id names another', async () => {
    expect(await gateWith().refusal(await member(), OTHER)).toMatchObject({
      status: 403,
      message: expect.stringContaining('X-Tenant-Id'),
    });
  });

  test.each(['JWT', 'at+jwt', 'application/at+JWT'])('of the type %s is taken', async (typ) => {
    expect((await gateWith().ask(await member({}, { header: { typ } }))).tenantId).toBe(TENANT);
  });

  test.each(['ES256', 'PS512', 'EdDSA'])(
    'signed by %s is taken when that is configured',
    async (alg) => {
      await issuer.rotate({ alg });
      expect(
        (await gateWith({ GX_OIDC_ALGORITHMS: alg.toLowerCase() }).ask(await member())).tenantId,
      ).toBe(TENANT);
    },
  );
});

describe('a token is refused with 401, a sentence and a challenge', () => {
  test.each<[string, () => Promise<string> | string, RegExp]>([
    ['that has expired', () => member({ exp: seconds() - 60 }), /has expired/],
    ['without an expiry', () => member({ exp: undefined }), /no time of expiry/],
    ['that is not valid yet', () => member({ nbf: seconds() + 60 }), /not valid yet/],
    ['for another audience', () => member({ aud: ['another'] }), /another audience/],
    [
      'of a type for another purpose',
      () => member({}, { header: { typ: 'logout+jwt' } }),
      /is of a type that is not made for/,
    ],
    ['of another issuer', () => member({ iss: 'https://elsewhere.example' }), /another issuer/],
    [
      'signed by another key under the same id',
      async () => member({}, { key: await issuer.rotate({ kid: 'known', publish: 'not' }) }),
      /not signed by a key/,
    ],
    [
      'signed by an algorithm that is not accepted',
      async () => (await issuer.rotate({ alg: 'RS512' }), member()),
      /algorithm that is not accepted/,
    ],
    ['that is no token', () => 'e30.e30.e30', /not a signed JSON Web Token/],
    [
      'that is not signed',
      () => new UnsecuredJWT({ sub: 'x' }).encode(),
      /not a signed JSON Web Token|algorithm/,
    ],
    ['signed with the public key as a shared secret', forged, /algorithm that is not accepted/],
  ])('%s', async (_, make, sentence) => {
    const { status, message, headers } = await gateWith().refusal(await make());
    expect([status, message]).toEqual([401, expect.stringMatching(sentence)]);
    expect(headers['www-authenticate']).toBe(
      `Bearer realm="gx-platform", error="invalid_token", error_description="${message}"`,
    );
  });

  test('but clocks may differ by as much as is configured', async () => {
    const token = await member({ exp: seconds() - 60 });
    expect((await gateWith({ GX_OIDC_CLOCK_SKEW_SECONDS: '90' }).ask(token)).tenantId).toBe(TENANT);
  });
});

/** The classic confusion is a token signed with HS256 under a key that everybody can read. */
async function forged(): Promise<string> {
  const { jwk, kid = '' } = await issuer.rotate();
  const claims = { iss: issuer.url, aud: 'gx', sub: 'x', tenant_id: TENANT, role: 'write' };
  const secret = new TextEncoder().encode(JSON.stringify(jwk));
  return new SignJWT(claims)
    .setProtectedHeader({ alg: 'HS256', kid })
    .setExpirationTime('1h')
    .sign(secret);
}

describe("the issuer's keys", () => {
  test('are read once for many tokens, and again when they are ten minutes old', async () => {
    const { ask, pass } = gateWith();
    const token = await member();
    await Promise.all(Array.from({ length: 20 }, () => ask(token)));
    expect(issuer.asked).toEqual(['/.well-known/openid-configuration', '/keys']);
    pass(11 * MINUTE);
    await ask(token);
    expect(issuer.asked).toHaveLength(4);
  });

  test('are read at once for a token that is signed by a new one', async () => {
    const { ask, pass } = gateWith();
    const old = await member();
    await ask(old);
    await issuer.rotate();
    pass(6000);
    expect((await ask(await member())).tenantId).toBe(TENANT);
    expect((await ask(old)).tenantId).toBe(TENANT);
  });

  test('are forgotten when the issuer withdraws them', async () => {
    const { ask, refusal, pass } = gateWith();
    const old = await member();
    await ask(old);
    await issuer.rotate({ publish: 'alone' });
    pass(11 * MINUTE);
    expect(await refusal(old)).toMatchObject({ status: 401 });
  });

  test('made-up key ids cost the issuer one reading in five seconds', async () => {
    const { ask, refusal, pass } = gateWith();
    await ask(await member());
    const stranger = await member({}, { key: await issuer.rotate({ publish: 'not' }) });
    pass(6000);
    const answers = await Promise.all(Array.from({ length: 10 }, () => refusal(stranger)));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 401));
    expect((await refusal(stranger)).status).toBe(401);
    expect(issuer.asked.filter((path) => path === '/keys')).toHaveLength(2);
  });

  test('without ids are tried one after the other', async () => {
    await issuer.rotate({ kid: '', publish: 'alone' });
    const first = await member();
    await issuer.rotate({ kid: '' });
    const { ask, refusal } = gateWith();
    expect([(await ask(first)).tenantId, (await ask(await member())).tenantId]).toEqual([
      TENANT,
      TENANT,
    ]);
    const stranger = await member({}, { key: await issuer.rotate({ kid: '', publish: 'not' }) });
    expect((await refusal(stranger)).status).toBe(401);
  });

  test('may lie where a setting says, without discovery', async () => {
    await gateWith({ GX_OIDC_JWKS_URL: `${issuer.url}/keys` }).ask(await member());
    expect(issuer.asked).toEqual(['/keys']);
  });

  test('are not fetched in clear text from where the discovery document points', async () => {
    issuer.lies.jwks_uri = 'http://keys.example/keys';
    expect((await gateWith().refusal(await member())).status).toBe(503);
  });

  test('of a discovery document that speaks for another issuer are not taken', async () => {
    issuer.lies.issuer = 'https://elsewhere.example';
    expect((await gateWith().refusal(await member())).status).toBe(503);
  });
});

describe('while the issuer is away', () => {
  test('a token that can not be checked is answered with 503 and a sentence, not with 401, until the issuer is back', async () => {
    const { ask, refusal, pass } = gateWith();
    const token = await member();
    await issuer.down();
    expect(await refusal(token)).toMatchObject({
      status: 503,
      message: expect.stringContaining(issuer.url),
    });
    await issuer.up();
    pass(1001);
    expect((await ask(token)).tenantId).toBe(TENANT);
  });

  test('its last keys serve on for a day, and are then trusted no more', async () => {
    const { ask, refusal, pass } = gateWith();
    const token = await member();
    await ask(token);
    await issuer.down();
    pass(12 * 60 * MINUTE);
    expect((await ask(token)).tenantId).toBe(TENANT);
    pass(DAY);
    expect((await refusal(token)).status).toBe(503);
  });

  test('a token by a key that nobody has seen yet is answered with 503', async () => {
    const { ask, refusal, pass } = gateWith();
    await ask(await member());
    await issuer.rotate();
    const token = await member();
    await issuer.down();
    pass(6000);
    expect((await refusal(token)).status).toBe(503);
  });
});

test('without credentials the answer names both ways in, and without an issuer a token is told that it opens nothing', async () => {
  const { gate } = gateWith();
  const challenge = {
    'www-authenticate': 'ApiKey realm="gx-platform", Bearer realm="gx-platform"',
  };
  await expect(gate.authenticate({}, 'read')).rejects.toMatchObject({
    status: 401,
    headers: challenge,
  });
  await expect(gate.authenticate({ authorization: 'Basic eDp5' }, 'read')).rejects.toMatchObject({
    status: 401,
    headers: challenge,
  });
  const closed = new Authenticator({ kube: {} as Kube, namespace: 'gx', log: silentLog() });
  await expect(closed.authenticate({ authorization: 'Bearer x' }, 'read')).rejects.toMatchObject({
    status: 401,
    message: expect.stringContaining('not accepted here'),
    headers: { 'www-authenticate': 'ApiKey realm="gx-platform"' },
  });
});
