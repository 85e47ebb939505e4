import { setTimeout as wait } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Unavailable } from '../../src/errors.ts';
import { kinds } from '../../src/kube/kinds.ts';
import type { Kube } from '../../src/kube/kube.ts';
import { names } from '../../src/schema/names.ts';
import { until } from '../kit/until.ts';
import { newDeployment } from '../kit/objects.ts';
import { metricOf } from '../kit/operator.ts';
import { setStage } from '../kit/stage.ts';

/** A door behind which the API server can be taken away. Watches still report. */
function shuttingDoor() {
  const state = { isAway: false };
  const through = (kube: Kube): Kube =>
    new Proxy(kube, {
      get(target, name) {
        const method: unknown = Reflect.get(target, name);
        // A call that makes another door would bypass this one.
        if (name === 'buildFenced' || typeof method !== 'function') return undefined;
        return (...given: unknown[]): unknown => {
          if (state.isAway && name !== 'watch')
            return Promise.reject(new Unavailable('the API server is away'));
          return (method as (...all: unknown[]) => unknown).apply(target, given);
        };
      },
    });
  return { state, through };
}

test('while its lease can not be renewed an operator begins nothing; with the next renewal it goes on at once', async () => {
  const renewDeadline = 4;
  const { state, through } = shuttingDoor();
  const stage = await setStage('lapse', {
    through,
    times: { lease: { duration: 8, renewDeadline, retry: 0.1 } },
  });
  const { kube, namespace, operator, see } = stage;
  await kube.create(kinds.deployment, newDeployment(namespace));
  await see.untilReady('chat');
  const ref = { namespace, name: names.service('chat') };
  const hijack = (revision: string): Promise<object> =>
    kube.patchJson(kinds.service, ref, [
      { op: 'replace', path: '/spec/selector/gx.dev~1revision', value: revision },
    ]);
  const failed = (): Promise<number> =>
    metricOf(operator, 'controller_runtime_reconcile_errors_total');
  const before = await failed();

  state.isAway = true;
  await hijack('once');
  await until('it was tried', async () => (await failed()) > before);
  await wait(renewDeadline * 2000);
  const tried = await failed();
  await hijack('twice');
  await until(
    'the change is known',
    async () => (await metricOf(operator, 'workqueue_depth', 'name="deployment"')) === 1,
  );
  await wait(500);
  expect(await failed()).toBe(tried);

  state.isAway = false;
  const selected = async (): Promise<unknown> => (await see.service(ref.name)).spec;
  await expect.poll(selected).toMatchObject({ selector: { 'gx.dev/revision': 'chat-00001' } });
  expect(await failed()).toBe(tried);
  await stage.stop();
});
