import { expect, test } from 'vitest';
import { readOperatorConfig } from '../../../src/config/platform/operator.ts';
import { choosePin } from '../../../src/operator/rollout/pins.ts';
import { deployment } from '../../kit/objects.ts';

/* The work that the pods of a revision pin to it: by their deployment, else by the installation. */

const NAMES = { GX_GATEWAY_SERVICE: 'gx-gateway', GX_NAMESPACE: 'gx' };
const asked = (env: Record<string, string>, pin?: 'Run' | 'Thread' | 'None') =>
  choosePin(deployment(pin && { spec: { rollout: { pin } } }), readOperatorConfig(env).settings);

test.each([
  ['Run unless somebody says otherwise', NAMES, undefined, 'Run'],
  ['as the installation says', { ...NAMES, GX_ROLLOUT_PIN: 'None' }, undefined, 'None'],
  ['as the deployment says', { ...NAMES, GX_ROLLOUT_PIN: 'None' }, 'Thread', 'Thread'],
  ['nothing where no gateway is installed', { GX_NAMESPACE: 'gx' }, 'Run', 'None'],
] as const)('%s', (_, env, pin, expected) => {
  expect(asked(env, pin)).toBe(expected);
});

test('another word is refused by the name of its setting', () => {
  expect(() => readOperatorConfig({ ...NAMES, GX_ROLLOUT_PIN: 'forever' })).toThrow(
    /GX_ROLLOUT_PIN must be one of run, thread, none/,
  );
});
