import { expect, test } from 'vitest';
import { startPlane } from '../kit/api-server-plane.ts';

const integration = { id: '22222222-2222-4222-8222-222222222222', name: 'acme', installation_id: 7 };

test.each([
  ['none', []],
  ['one', [integration]],
])('the connections to a git host that are configured are listed: %s', async (_, gitIntegrations) => {
  const plane = await startPlane('integrations', { gitIntegrations });
  const { status, body } = await plane.call('GET', '/v1/integrations/git/install', { key: plane.keys.read });
  expect([status, body]).toEqual([200, gitIntegrations]);
  await plane.stop();
});
