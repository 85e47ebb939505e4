import { describe, expect, test } from 'vitest';
import { readAgentConfig } from '../../src/config/agent/agent.ts';
import { readControlPlaneConfig } from '../../src/config/platform/control-plane.ts';
import type { Env } from '../../src/config/env.ts';
import { readGatewayConfig } from '../../src/config/platform/gateway.ts';
import { readOperatorConfig } from '../../src/config/platform/operator.ts';

const PROCESSES: [string, (env: Env) => string[]][] = [
  [
    'the agent server',
    (env) => readAgentConfig({ DATABASE_URI: 'postgresql://x', ...env }).trustedProxies,
  ],
  ['the control plane', (env) => readControlPlaneConfig(env).trustedProxies],
  ['the gateway', (env) => readGatewayConfig(env).trustedProxies],
  ['the operator, for agents', (env) => readOperatorConfig(env).settings.trustedProxies],
];

describe.each(PROCESSES)('trusted proxies of %s', (_, read) => {
  test('are addresses and blocks, and nobody by default', () => {
    expect(read({})).toEqual([]);
    expect(read({ GX_TRUSTED_PROXIES: '10.0.0.0/8, 192.0.2.7,fd00::/8' })).toEqual([
      '10.0.0.0/8',
      '192.0.2.7',
      'fd00::/8',
    ]);
  });

  test.each([
    '10.0.0.0/33',
    '10.0.0/8',
    'proxy.example',
    '0.0.0.0/0',
    '::/0',
    'fd00::/129',
    'fe80::1%eth0',
    '10.0.0.0/8/8',
  ])('are not %s, which is refused by name at the start', (block) => {
    expect(() => read({ GX_TRUSTED_PROXIES: `10.0.0.1,${block}` })).toThrow(
      `GX_TRUSTED_PROXIES must be addresses or blocks such as 10.0.0.0/8, which ${block} is not`,
    );
  });
});
