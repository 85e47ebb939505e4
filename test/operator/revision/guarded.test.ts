import { expect, test } from 'vitest';
import { buildGuardFields } from '../../../src/operator/revision/objects/guarded.ts';
import { deployment, revision, settings } from '../../kit/objects.ts';

/* What the pods of a revision are told about who may call. */

type Auth = {
  mode?: 'key' | 'tenant' | 'open';
  issuer?: string;
  audiences?: string[];
  jwks?: string;
  roles?: string;
};

const variablesOf = (auth: Auth | undefined, url?: string): Record<string, string> => {
  const of = revision(
    deployment({
      template: { sourceRevisionConfig: { imageUri: 'agent:1', ...(auth && { auth }) } },
    }),
  );
  const { variables } = buildGuardFields(
    of,
    { deploymentId: 'the-id' },
    settings(url === undefined ? {} : { controlPlaneUrl: url }),
  );
  return Object.fromEntries(
    (variables as { name: string; value: string }[]).map(({ name, value }) => [name, value]),
  );
};
const KEY = { GX_AGENT_KEY_FOLDER: '/etc/gx-key' };

test('the key always opens them, unless they are open', () => {
  expect(variablesOf(undefined)).toEqual(KEY);
  expect(variablesOf({ mode: 'key' })).toEqual(KEY);
  expect(variablesOf({ mode: 'open' })).toEqual({});
});

test('keys of the tenant are checked by the control plane, where agents know its address', () => {
  const asked = { GX_AUTH_CHECK_URL: 'http://plane', GX_DEPLOYMENT_ID: 'the-id' };
  expect(variablesOf({ mode: 'tenant' }, 'http://plane')).toEqual({ ...KEY, ...asked });
  expect(variablesOf({ mode: 'tenant' })).toEqual(KEY);
  expect(variablesOf({ mode: 'key' }, 'http://plane')).toEqual(KEY);
});

test('tokens of an issuer are verified by the agent', () => {
  const issuer = {
    issuer: 'https://id.example',
    audiences: ['a', 'b'],
    jwks: 'https://id.example/keys',
    roles: 'realm.roles',
  };
  expect(variablesOf(issuer)).toEqual({
    ...KEY,
    GX_AUTH_ISSUER: 'https://id.example',
    GX_AUTH_AUDIENCE: 'a,b',
    GX_AUTH_JWKS_URL: 'https://id.example/keys',
    GX_AUTH_ROLE_CLAIM: 'realm.roles',
  });
});
