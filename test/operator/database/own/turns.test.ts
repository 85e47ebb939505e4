import { afterAll, beforeAll, expect, test } from 'vitest';
import { readOperatorConfig } from '../../../../src/config/platform/operator.ts';
import { kinds } from '../../../../src/kube/kinds.ts';
import type { KubeObject } from '../../../../src/kube/kube.ts';
import { findHeldRenewal } from '../../../../src/operator/database/own/turns.ts';
import { TakenTurns } from '../../../../src/operator/view/taken-turns.ts';
import { addRequestHash } from '../../../../src/operator/database/own/settled.ts';
import { names } from '../../../../src/schema/names.ts';
import { deployment, newDeployment } from '../../../kit/objects.ts';
import type { RunningOperator } from '../../../kit/operator.ts';
import { openStage, type Stage } from '../../../kit/stage.ts';
import { still, until } from '../../../kit/until.ts';

/* Many deployments ask for another pod of their database, as after an upgrade. */
const NAMES = ['a', 'b', 'c'] as const;
let stage: Stage;
let operator: RunningOperator;
beforeAll(async () => {
  stage = await openStage('turns');
  stage.startKubelet();
  operator = await stage.startOperator({ identity: 'first' });
});
afterAll(() => stage.stop());

type PodSpec = { containers: { image: string }[] };
const images = (): Promise<(string | undefined)[]> =>
  Promise.all(
    NAMES.map(async (name) => {
      const pod = await stage.kube.find(kinds.pod, {
        namespace: stage.namespace,
        name: `${names.database(name)}-0`,
      });
      return (pod?.spec as PodSpec | undefined)?.containers[0]?.image;
    }),
  );
const renew = (name: string, value: string): Promise<object> =>
  stage.kube.patchJson(kinds.deployment, { namespace: stage.namespace, name }, [
    { op: 'add', path: '/metadata/annotations', value: { 'gx.dev/renew-database': value } },
  ]);
const waitsFor = async (name: string): Promise<string | undefined> =>
  (await stage.see.deployment(name)).status?.conditions?.find(
    ({ type }) => type === 'DatabaseRenewed',
  )?.reason;
const upgraded = async (identity: string, databaseImage: string): Promise<void> => {
  await operator.stop();
  operator = await stage.startOperator({ identity, settings: { databaseImage } });
};

test('they restart one after the other, and one that does not come up stops the others', async () => {
  await Promise.all(
    NAMES.map((name) =>
      stage.kube.create(kinds.deployment, newDeployment(stage.namespace, { metadata: { name } })),
    ),
  );
  for (const name of NAMES) await stage.see.untilReady(name);
  const [former] = await images();
  await upgraded('second', 'mute:18');
  expect(await still('the images after the upgrade alone', images)).toEqual([
    former,
    former,
    former,
  ]);
  for (const name of ['c', 'b', 'a']) await renew(name, 'today');
  await until('one has restarted', async () => (await images()).includes('mute:18'));
  await until(
    'the others wait',
    async () =>
      (await Promise.all(NAMES.map(waitsFor))).filter((why) => why === 'WaitsForTurn').length === 2,
  );
  const now = await still('the images while one is down', images);
  expect(now.filter((image) => image === 'mute:18')).toHaveLength(1);
  expect(now.filter((image) => image === former)).toHaveLength(2);
  const broken = NAMES[now.indexOf('mute:18')] as string;
  await upgraded('third', 'gx-postgres:18');
  await renew(broken, 'tomorrow');
  await until('all have restarted', async () =>
    (await images()).every((image) => image === 'gx-postgres:18'),
  );
  for (const name of NAMES) {
    await stage.see.untilReady(name);
    await until('nothing waits', async () => (await waitsFor(name)) === undefined);
  }
});

/** A database that runs, of a deployment that asks for another pod; `restarting` after it was made again. */
function inLine(
  name: string,
  { asks = true, restarting = false }: { asks?: boolean; restarting?: boolean } = {},
) {
  const of = deployment({
    metadata: { name, ...(asks && { annotations: { 'gx.dev/renew-database': 'today' } }) },
  });
  const bare: KubeObject = {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name, generation: 1 },
    spec: { replicas: 1 },
  };
  const ready = {
    observedGeneration: 1,
    replicas: 1,
    readyReplicas: 1,
    availableReplicas: 1,
    updatedReplicas: 1,
  };
  const made = addRequestHash(restarting || !asks ? of : deployment({ metadata: { name } }), bare);
  return {
    deployment: of,
    set: {
      ...made,
      status: restarting ? { ...ready, readyReplicas: 0, availableReplicas: 0 } : ready,
    },
  };
}
const line = (
  databases: ReturnType<typeof inLine>[],
  settings: Record<string, string> = {},
  time = '2026-01-01T03:00:00Z',
) => ({
  databases,
  turns: readOperatorConfig(settings).settings.databases,
  taken: new TakenTurns(),
  now: new Date(time),
});

test('as many go at a time as the installation says, and the message counts those before', () => {
  const all = [inLine('a'), inLine('b'), inLine('c'), inLine('d', { asks: false })] as const;
  const held = (settings: Record<string, string>) =>
    all.map((own) => findHeldRenewal(own, () => line([...all], settings))?.reason);
  expect(held({})).toEqual([undefined, 'WaitsForTurn', 'WaitsForTurn', undefined]);
  expect(held({ GX_DATABASES_AT_ONCE: '2' })).toEqual([
    undefined,
    undefined,
    'WaitsForTurn',
    undefined,
  ]);
  const running = inLine('z', { restarting: true });
  expect(findHeldRenewal(all[0], () => line([...all, running]))?.message).toContain(
    '1 restart now, and 0 are before it',
  );
  expect(findHeldRenewal(running, () => line([...all, running]))).toBeUndefined();
});

test('one that may restart counts before the cluster shows it, for half a minute', () => {
  const all = [inLine('a'), inLine('b')] as const;
  const at = (time: string, databases = [...all]) => ({ ...line(databases, {}, time), taken });
  const taken = new TakenTurns();
  const held = (own: (typeof all)[number], time: string, databases?: [...typeof all]) =>
    findHeldRenewal(own, () => at(time, databases))?.reason;
  expect(
    findHeldRenewal(all[1], () => at('2026-01-01T03:00:00Z', [all[1]] as never)),
  ).toBeUndefined();
  expect(held(all[0], '2026-01-01T03:00:01Z')).toBe('WaitsForTurn');
  expect(held(all[1], '2026-01-01T03:00:02Z')).toBeUndefined();
  expect(held(all[0], '2026-01-01T03:00:31Z')).toBeUndefined();
});

test.each([
  ['within the window', '01:30-04:00', '2026-01-01T03:59:00Z', undefined],
  ['after it', '01:30-04:00', '2026-01-01T04:00:00Z', 'WaitsForWindow'],
  ['before it', '01:30-04:00', '2026-01-01T01:29:00Z', 'WaitsForWindow'],
  ['past midnight', '23:00-01:00', '2026-01-01T00:30:00Z', undefined],
  ['in the day of such a window', '23:00-01:00', '2026-01-01T12:00:00Z', 'WaitsForWindow'],
])('%s', (_, window, time, reason) => {
  const own = inLine('a');
  expect(
    findHeldRenewal(own, () => line([own], { GX_DATABASES_WINDOW: window }, time))?.reason,
  ).toBe(reason);
});

test('a window that is none is named', () => {
  expect(() => readOperatorConfig({ GX_DATABASES_WINDOW: '4-5' })).toThrow(
    /GX_DATABASES_WINDOW 4-5 is not a time window/,
  );
});
