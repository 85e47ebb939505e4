import { expect, test } from 'vitest';
import { isReservedEnv } from '../../src/schema/platform/deployment/reserved-env.ts';

const ours = [
  'PORT',
  'DATABASE_URI',
  'GX_REVISION',
  'GX_DEPLOYMENT_NAME',
  'KUBERNETES_SERVICE_HOST',
];
const grace = ['GX_JOB_SHUTDOWN_GRACE_PERIOD_SECS', 'BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS'];
test.each([...ours, ...grace])('%s is set by the platform', (name) => {
  expect(isReservedEnv(name)).toBe(true);
});

test.each(['OPENAI_API_KEY', 'GX_AES_JSON_KEYS', 'PORTAL', 'port'])(
  "%s is the user's own",
  (name) => {
    expect(isReservedEnv(name)).toBe(false);
  },
);
