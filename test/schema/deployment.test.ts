import { describe, expect, test } from 'vitest';
import {
  DeploymentCreateRequest,
  DeploymentPatchRequest,
} from '../../src/schema/platform/deployment/deployment.ts';
import { accepts } from './accepts.ts';

const whole = {
  name: 'chat',
  source: 'external_container',
  source_config: {},
  source_revision_config: { image_uri: 'chat:1' },
  secrets: [{ name: 'TOKEN', value: '' }],
};

describe('a request to create', () => {
  test('has five fields, all required', () => {
    expect(accepts(DeploymentCreateRequest, whole)).toBe(true);
    for (const field of Object.keys(whole)) {
      const { [field as keyof typeof whole]: _left, ...rest } = whole;
      expect(accepts(DeploymentCreateRequest, rest)).toBe(false);
    }
  });

  test.each([
    ['an unknown field', { id: 'x' }],
    ['an unknown field inside', { source_config: { url: 'x' } }],
    ['a name that is no DNS label', { name: 'Chat' }],
    ['a name too long for a label', { name: 'a'.repeat(64) }],
    ['another source', { source: 'zip' }],
    ['an address that runs a script', { source_config: { custom_url: 'javascript:alert(1)' } }],
    ['an address with a space', { source_config: { custom_url: 'https://a b' } }],
    ['a secret that is no variable', { secrets: [{ name: 'A-B', value: '' }] }],
  ])('with %s is refused', (_situation, change) => {
    expect(accepts(DeploymentCreateRequest, { ...whole, ...change })).toBe(false);
  });

  test('takes null for every optional field', () => {
    const nulls = {
      integration_id: null,
      repo_url: null,
      deployment_type: null,
      build_on_push: null,
      custom_url: null,
      resource_spec: null,
    };
    const revision = { repo_ref: null, gx_config_path: null, image_uri: null };
    expect(
      accepts(DeploymentCreateRequest, {
        ...whole,
        source_config: nulls,
        source_revision_config: revision,
      }),
    ).toBe(true);
  });
});

test('a request to change may have nothing in it, and repeat what is fixed: whether that is a change is a rule, no shape', () => {
  expect(accepts(DeploymentPatchRequest, {})).toBe(true);
  expect(
    accepts(DeploymentPatchRequest, {
      secrets: null,
      source_config: null,
      source_revision_config: null,
    }),
  ).toBe(true);
  expect(accepts(DeploymentPatchRequest, { name: 'chat', source: 'git' })).toBe(true);
  expect(accepts(DeploymentPatchRequest, { id: 'x' })).toBe(false);
});

test.each([
  ['https://agents.example/chat', true],
  ['http://10.0.0.1:8080', true],
  ['javascript:alert(1)', false],
  ['data:text/html,x', false],
  [' https://agents.example', false],
  ['https://agents.example/ x', false],
])('the address of a deployment is one of the web: %s', (custom_url, isTaken) => {
  expect(accepts(DeploymentPatchRequest, { source_config: { custom_url } })).toBe(isTaken);
});
