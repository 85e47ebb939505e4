import { expect, test } from 'vitest';
import { buildHealthRoutes } from '../../src/gateway/health-routes.ts';
import type { Request } from '../../src/http/routes/route.ts';
import { expectListedMetrics } from '../kit/metric-names.ts';

test('the metrics of the gateway have an age for each of its watches', async () => {
  const watch = { kind: 'Deployment', namespace: 'team', selector: '', silent: 1500 };
  const routes = buildHealthRoutes({
    reports: { size: 1 },
    deployments: () => 3,
    doors: () => 2,
    held: { count: 1, refused: 0 },
    waking: { count: 4 },
    watches: () => [watch, { ...watch, kind: 'ConfigMap', silent: undefined }],
    isReady: () => true,
  });
  const reply = await routes
    .find(({ path }) => path === '/metrics')!
    .handler({} as Request as never);
  const scrape = reply.kind === 'text' ? reply.body : '';
  expectListedMetrics('gateway', scrape);
  expect(scrape).toContain('gx_gateway_deployments 3');
  expect(
    scrape.split('\n').filter((line) => line.startsWith('watch_last_event_age_seconds{')),
  ).toEqual(['watch_last_event_age_seconds{kind="Deployment",namespace="team",selector=""} 1.5']);
});
