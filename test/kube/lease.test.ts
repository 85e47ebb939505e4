import { expect, test } from 'vitest';
import { kinds } from '../../src/kube/kinds.ts';
import { Election, formatMicroTime } from '../../src/kube/lease.ts';
import { testNamespace } from '../kit/api-server.ts';
import { openStage } from '../kit/stage.ts';
import { silentLog } from '../kit/log.ts';
import { newDeployment } from '../kit/objects.ts';
import { operatorFor } from '../kit/operator.ts';

const seconds = { duration: 3, renewDeadline: 2, retry: 0.2 };

test('a time has the six digits that Kubernetes wants', () => {
  expect(formatMicroTime(new Date('2026-01-01T00:00:00.5Z'))).toBe('2026-01-01T00:00:00.500000Z');
});

test('one leads at a time; a holder that says nothing is replaced after its time, one that leaves at once', async () => {
  const { kube, namespace } = await testNamespace('lease');
  const elect = (identity: string, times = seconds): Election =>
    new Election({ kube, log: silentLog(), namespace, name: 'x', identity, seconds: times });
  const [one, two, three] = [
    elect('one'),
    elect('two', { duration: 15, renewDeadline: 10, retry: 0.2 }),
    elect('three'),
  ];
  const signal = AbortSignal.timeout(120_000);
  await one.acquire(signal);
  expect(one.absences).toEqual([]);
  const started = Date.now();
  await two.acquire(signal);
  expect(Date.now() - started).toBeGreaterThan(2500);
  const [absence, ...others] = two.absences;
  expect(others).toEqual([]);
  expect((absence?.to ?? 0) - (absence?.from ?? 0)).toBeGreaterThan(2500);
  expect(await one.hold(signal)).toBe('lost');
  const waiting = three.acquire(signal);
  const left = Date.now();
  await two.release();
  await waiting;
  expect(Date.now() - left).toBeLessThan(8000);
});

test('after SIGTERM the standby works on long before the lease would end, and the first one writes no more', async () => {
  const stage = await openStage('handover');
  const { kube, namespace } = stage;
  stage.startKubelet();
  const first = await stage.startOperator({ identity: 'first' });
  const second = stage.endWith(await operatorFor(stage, { identity: 'second' }));
  const ready = await fetch(`http://127.0.0.1:${second.port}/readyz`);
  const stopped = Date.now();
  await first.stop();
  expect(await first.ended).toBe('stopped');
  await second.leading;
  expect(Date.now() - stopped).toBeLessThan(10_000);
  expect([200, 503]).toContain(ready.status);
  await kube.create(kinds.deployment, newDeployment(namespace));
  await stage.see.untilReady('chat');
  const metrics = await (await fetch(`http://127.0.0.1:${second.port}/metrics`)).text();
  for (const name of [
    'controller_runtime_reconcile_total{',
    'controller_runtime_reconcile_panics_total{controller="deployment"} 0',
    'workqueue_depth{',
    'workqueue_unfinished_work_seconds{',
    'workqueue_longest_running_processor_seconds{',
    'watch_last_event_age_seconds{',
    'rest_client_requests_total{',
    'leader_election_master_status{',
  ]) {
    expect(metrics).toContain(name);
  }
  expect((await fetch(`http://127.0.0.1:${second.port}/healthz`)).status).toBe(200);
  expect((await fetch(`http://127.0.0.1:${second.port}/readyz`)).status).toBe(200);
  await stage.stop();
});
