import { expect, test } from 'vitest';
import { agentConfig } from '../../src/config/agent.ts';
import { StartError } from '../../src/errors.ts';

const env = { DATABASE_URI: 'postgresql://x' };

test('every setting but the database has a default', () => {
  expect(agentConfig(env)).toMatchObject({ port: 8000, configPath: './gx.json', jobs: { slots: 10, graceSeconds: 180, maxAttempts: 3 } });
});

test.each([
  ['GX_ names win over the ones that deployments bring along', { GX_JOBS_PER_WORKER: '3', N_JOBS_PER_WORKER: '7' }, { jobs: { slots: 3 } }],
  ['an api process runs nothing', { N_JOBS_PER_WORKER: '0' }, { jobs: { slots: 0 } }],
  ['PORT is understood', { PORT: '81' }, { port: 81 }],
])('%s', (_, more, expected) => {
  expect(agentConfig({ ...env, ...more })).toMatchObject(expected);
});

test('flags win over the environment', () => {
  expect(agentConfig({ ...env, GX_CONFIG: 'a.json' }, ['--config', 'b.json', '--port', '9'])).toMatchObject({
    configPath: 'b.json',
    port: 9,
  });
});

test('all problems are told at once', () => {
  const start = (): unknown => agentConfig({ N_JOBS_PER_WORKER: 'many', PORT: '-1' });
  expect(start).toThrow(StartError);
  expect(start).toThrow(/(?=.*DATABASE_URI)(?=.*N_JOBS_PER_WORKER)(?=.*PORT)/);
});
