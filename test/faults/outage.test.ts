import { afterAll, beforeAll, expect, test } from 'vitest';
import { setTimeout as wait } from 'node:timers/promises';
import { connect } from '../../src/kube/client.ts';
import { NotFound } from '../../src/errors.ts';
import { kinds } from '../../src/kube/kinds.ts';
import type { KubeObject } from '../../src/kube/kube.ts';
import { buildCrd } from '../../src/schema/platform/resources/crd.ts';
import { KINDS } from '../../src/schema/platform/resources/custom-kinds.ts';
import { conditionOf, startApiServer, type ApiServer } from '../kit/api-server.ts';
import { until } from '../kit/until.ts';
import { isWrite } from '../kit/fault-proxy.ts';
import {
  change,
  deploy,
  faultFree,
  IMAGE,
  NAME,
  remove,
  settledFirst,
  untilGone,
  untilSettled,
} from './life.ts';
import type { World } from './oracle.ts';
import { converged, report, faultStage, type FaultStage } from './fault-stage.ts';

/*
 * The API server goes away or forgets, and objects are removed while no operator runs. The test has a server of its
 * own, because it kills the server.
 */
let server: ApiServer;
let clean: World;

beforeAll(async () => {
  server = await startApiServer();
  clean = await faultFree((given) =>
    change(IMAGE, 'agent:2')(given).then(() => untilSettled(given)),
  );
});
afterAll(() => server.stop());

const here = (name: string): Promise<FaultStage> => faultStage(name, server.kubeconfig);

async function faultsAfter(scenario: string, given: FaultStage, wanted = clean): Promise<string[]> {
  const outcome = await converged(scenario, given, wanted);
  report([outcome]);
  return outcome.faults;
}

test('the API server is killed in the middle of an update, and is away for longer than a lease is held', async () => {
  const given = await here('restart');
  const operator = given.process('only');
  await operator.leading();
  await deploy(given);
  await untilSettled(given);
  let writes = 0;
  const begun = Promise.withResolvers<void>();
  given.proxy.rules = {
    answered: (entry) => isWrite(entry) && (writes += 1) === 4 && begun.resolve(),
  };
  await change(IMAGE, 'agent:2')(given);
  await begun.promise;
  await server.kill();
  const from = given.proxy.journal.length;
  await wait(12_000);
  const asked = given.proxy.journal.length - from;
  await server.restart();
  expect(await faultsAfter('the API server was away for 12 s', given)).toEqual([]);
  expect(operator.end()).toBeUndefined();
  process.stdout.write(`requests while the API server was away: ${asked}\n`);
  await given.stop();
});

test('the past is forgotten (410) while the watches are cut', async () => {
  const given = await here('compacted');
  const operator = await given.operator();
  await deploy(given);
  await untilSettled(given);
  given.proxy.cut({ refuse: true });
  await change(IMAGE, 'agent:2')(given);
  await server.compact();
  await server.kill();
  await server.restart();
  given.proxy.mend();
  expect(await faultsAfter('410 after a compaction', given)).toEqual([]);
  await operator.stop();
  await given.stop();
});

test('a deployment is deleted while no operator runs', async () => {
  const wanted = await faultFree((given) => remove(given).then(() => untilGone(given)));
  const given = await here('deleted');
  await settledFirst(given);
  await remove(given);
  await wait(500);
  const heir = await given.operator('heir');
  expect(await faultsAfter('deleted while the operator was down', given, wanted)).toEqual([]);
  await heir.stop();
  await given.stop();
});

/** As in a cluster, the lease is not in the namespace that is deleted, where none could be made any more. */
const elsewhere = { alone: true, env: { GX_NAMESPACE: 'default' } };

/** The deployments of all scenes keep the definition from being deleted until they are finalized. */
const everywhere = { alone: true, env: { GX_NAMESPACE: 'default', GX_WATCH_NAMESPACES: '' } };

test('its namespace is deleted while no operator runs', async () => {
  const given = await here('namespace');
  await settledFirst(given);
  await given.kube.delete(kinds.namespace, { name: given.namespace });
  await wait(2000);
  const heir = given.process('heir-of-a-namespace', elsewhere);
  const started = performance.now();
  await until('the namespace is gone', () =>
    isGone(given.kube.get(kinds.namespace, { name: given.namespace })),
  );
  process.stdout.write(
    `a namespace went ${((performance.now() - started) / 1000).toFixed(1)} s after the operator came back\n`,
  );
  expect(heir.end()).toBeUndefined();
  await given.stop();
});

const isGone = (asked: Promise<unknown>): Promise<boolean> =>
  asked.then(
    () => false,
    (error: unknown) => error instanceof NotFound,
  );

const DEFINITION = 'deployments.gx.dev';
const definition = buildCrd(KINDS[0] as (typeof KINDS)[number]) as KubeObject;

test('the resource definition is deleted while no operator runs, and installed again: nothing of the old life is left but the data', async () => {
  const given = await here('definition');
  await settledFirst(given);
  const removing = given.kube.delete(kinds.customResourceDefinition, { name: DEFINITION });
  await wait(1000);
  const heir = given.process('heir-of-a-definition', everywhere);
  await removing;
  await until('the definition is gone', () =>
    isGone(given.kube.get(kinds.customResourceDefinition, { name: DEFINITION })),
  );
  await until('nothing but the data is left', async () =>
    (await leftIn(given)).every((kind) =>
      ['Secret', 'PersistentVolumeClaim', 'TracingProject'].includes(kind),
    ),
  );
  const admin = await connect({
    fieldManager: 'test',
    userAgent: 'test-kit',
    kubeconfig: server.kubeconfig,
  });
  await admin.apply(kinds.customResourceDefinition, definition);
  await until(
    'the definition is back',
    async () =>
      conditionOf(
        await admin.get(kinds.customResourceDefinition, { name: DEFINITION }),
        'Established',
      ) === 'True',
  );
  await deploy(given);
  const started = performance.now();
  await given.see.untilReady(NAME);
  process.stdout.write(
    `a deployment was ready ${((performance.now() - started) / 1000).toFixed(1)} s after its definition came back\n`,
  );
  expect(heir.end()).toBeUndefined();
  await admin.close();
  await given.stop();
});

const leftIn = async ({ world }: FaultStage): Promise<string[]> =>
  (await world()).objects.map(({ kind }) => kind);
