import { expect, test } from 'vitest';
import { kinds } from '../../src/kube/kinds.ts';
import { faultProxy, isWrite } from '../kit/fault-proxy.ts';
import { until } from '../kit/until.ts';
import { change, deploy, faultFree, IMAGE, NAME, settledFirst, untilSettled } from './life.ts';
import { converged, report, faultStage } from './fault-stage.ts';

/*
 * Two operator processes run with a cluster's lease times. Each goes through a proxy of its own, which knows what it
 * wrote.
 */

/**
 * Returns the seconds from the order to stop until the other one leads and has made the revision of a change that
 * nobody saw before.
 */
async function handover(signal: NodeJS.Signals): Promise<number> {
  const given = await faultStage('handover');
  await settledFirst(given);
  const first = given.process('first');
  await first.leading();
  const wire = await faultProxy(given.kubeconfig);
  const second = given.process('second', { proxy: wire });
  await until('the second one watches', () =>
    wire.journal.some(({ verb, resource }) => verb === 'watch' && resource === 'pods'),
  );
  first.signal(signal);
  const started = performance.now();
  await change(IMAGE, 'agent:2')(given);
  await until(
    'the change has its revision',
    async () => (await given.see.deployment(NAME)).status?.latestRevision === `${NAME}-00002`,
    60,
  );
  const seconds = (performance.now() - started) / 1000;
  expect(second.end()).toBeUndefined();
  wire.stop();
  await given.stop();
  return seconds;
}

test.concurrent('after SIGKILL of the leader the other one works within 20 s', async () => {
  const seconds = await handover('SIGKILL');
  process.stdout.write(`fail-over after SIGKILL: ${seconds.toFixed(1)} s\n`);
  expect(seconds).toBeLessThan(20);
});

test.concurrent('after SIGTERM of the leader the other one works within 3 s', async () => {
  const seconds = await handover('SIGTERM');
  process.stdout.write(`fail-over after SIGTERM: ${seconds.toFixed(1)} s\n`);
  expect(seconds).toBeLessThan(3);
});

test.concurrent('a leader that is stopped, and wakes when another one leads, writes nothing', async () => {
  const clean = await faultFree((given) =>
    change(IMAGE, 'agent:2')(given).then(() => untilSettled(given)),
  );
  const given = await faultStage('two-leaders');
  const wire = await faultProxy(given.kubeconfig);
  const first = given.process('first', { proxy: wire });
  await first.leading();
  await deploy(given);
  await untilSettled(given);
  first.signal('SIGSTOP');
  const second = given.process('second');
  await change(IMAGE, 'agent:2')(given);
  await second.leading(40);
  await untilSettled(given);
  const from = wire.journal.length;
  first.signal('SIGCONT');
  const outcome = await converged('a stopped leader wakes', given, clean);
  await until('the stopped one knows', async () => first.end() !== undefined, 20);
  report([outcome]);
  expect(outcome.faults).toEqual([]);
  expect(wire.journal.slice(from).filter(isWrite)).toEqual([]);
  expect(
    (await given.kube.get(kinds.lease, { namespace: given.namespace, name: 'gx-operator' })).spec,
  ).toMatchObject({
    holderIdentity: 'second',
  });
  wire.stop();
  await given.stop();
});
