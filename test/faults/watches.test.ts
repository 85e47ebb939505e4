import { expect, test } from 'vitest';
import { setTimeout as wait } from 'node:timers/promises';
import { kinds } from '../../src/kube/kinds.ts';
import type { KubeObject } from '../../src/kube/kube.ts';
import { REVISION } from '../../src/schema/platform/objects/labels.ts';
import { names } from '../../src/schema/names.ts';
import { until } from '../kit/until.ts';
import type { Asked } from '../kit/fault-proxy.ts';
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
import { CONVERGED_WITHIN, converged, report, faultStage, type FaultStage } from './fault-stage.ts';

/* What an operator sees of the cluster is old, late, or nothing at all. */

const update = (given: FaultStage): Promise<unknown> => change(IMAGE, 'agent:2')(given);
const updated = (given: FaultStage): Promise<void> => update(given).then(() => untilSettled(given));

async function faultsAfter(scenario: string, given: FaultStage, clean: World): Promise<string[]> {
  const outcome = await converged(scenario, given, clean);
  report([outcome]);
  return outcome.faults;
}

/** Keeps the present lists for later. An API server that lags behind answers with them the first two times. */
async function listsOf({ kube, proxy }: FaultStage): Promise<(asked: Asked) => string | undefined> {
  const paths = new Map(
    proxy.journal
      .filter(({ verb }) => verb === 'list')
      .map(({ resource, path }) => [path, resource]),
  );
  const texts = new Map<string, string>();
  for (const path of paths.keys()) texts.set(path, await textOf(path));
  const asked = new Map<string, number>();
  return ({ verb, path }) => {
    if (verb !== 'list') return undefined;
    asked.set(path, (asked.get(path) ?? 0) + 1);
    return (asked.get(path) ?? 0) <= 2 ? texts.get(path) : undefined;
  };

  async function textOf(path: string): Promise<string> {
    const kind = Object.values(kinds).find(
      ({ apiVersion, plural }) =>
        path.startsWith(`/${apiVersion.includes('/') ? 'apis' : 'api'}/${apiVersion}/`) &&
        path.includes(`/${plural}?`),
    );
    if (kind === undefined) throw new Error(`no kind for ${path}`);
    const { pathname, searchParams } = new URL(path, 'https://x');
    const of = /\/namespaces\/([^/]+)\//.exec(pathname)?.[1];
    const selectors = ['labelSelector', 'fieldSelector'].flatMap((name) => {
      const selector = searchParams.get(name);
      return selector === null ? [] : [[name, selector] as const];
    });
    const { items, resourceVersion } = await kube.list<KubeObject>(kind, {
      ...(of !== undefined && { namespace: of }),
      ...Object.fromEntries(selectors),
    });
    return JSON.stringify({
      kind: `${kind.kind}List`,
      apiVersion: kind.apiVersion,
      metadata: { resourceVersion },
      items,
    });
  }
}

type Stale = { of: string; late: (asked: Asked) => boolean };

/** Every kind is old, or only one of them is, and then the others contradict it. */
const VIEWS: Stale[] = [
  { of: 'all kinds', late: () => true },
  ...[
    'deployments',
    'revisions',
    'statefulsets',
    'services',
    'pods',
    'networkpolicies',
    'tracingprojects',
  ].map((resource) => ({
    of: resource,
    late: (asked: Asked) => asked.resource === resource,
  })),
];

test.concurrent.each(VIEWS)(
  'an operator that starts from an old list of $of does no harm',
  async ({ of, late }) => {
    const clean = await faultFree(updated);
    const given = await faultStage('stale');
    await settledFirst(given);
    const old = await listsOf(given);
    const operator = await given.operator('second');
    await updated(given);
    await operator.stop();
    const service = { namespace: given.namespace, name: names.service(NAME) };
    const selected = async (): Promise<unknown> =>
      ((await given.kube.get(kinds.service, service)).spec as { selector: Record<string, string> })
        .selector[REVISION];
    given.proxy.rules = {
      request: (asked) => {
        const body = late(asked) ? old(asked) : undefined;
        return body === undefined ? 'pass' : { status: 200, body };
      },
      event: (asked) => (late(asked) ? 3000 : 'pass'),
    };
    const stale = await given.operator('third');
    const end = performance.now() + 1000;
    while (performance.now() < end) {
      expect(await selected()).toBe(`${NAME}-00002`);
      await wait(100);
    }
    given.proxy.rules = {};
    expect(await faultsAfter(`an old list of ${of}`, given, clean)).toEqual([]);
    await stale.stop();
    await given.stop();
  },
);

test.concurrent('an operator that starts from a list with a deployment that is gone makes nothing for it', async () => {
  const clean = await faultFree((given) => remove(given).then(() => untilGone(given)));
  const given = await faultStage('stale-gone');
  await settledFirst(given);
  const old = await listsOf(given);
  const operator = await given.operator('second');
  await remove(given);
  await untilGone(given);
  await operator.stop();
  given.proxy.rules = {
    request: (asked) => {
      const body =
        asked.resource === 'deployments' && asked.path.includes('gx.dev') ? old(asked) : undefined;
      return body === undefined ? 'pass' : { status: 200, body };
    },
    event: ({ path }) => (path.includes('gx.dev') ? 3000 : 'pass'),
  };
  const stale = await given.operator('third');
  await wait(500);
  given.proxy.rules = {};
  expect(await faultsAfter('an old list of a deployment that is gone', given, clean)).toEqual([]);
  await stale.stop();
  await given.stop();
});

test.concurrent('watches that break off again and again during a creation and an update', async () => {
  const clean = await faultFree(updated);
  const given = await faultStage('dropped');
  const operator = await given.operator();
  const breaking = setInterval(() => given.proxy.cut(), 400);
  await deploy(given);
  await untilSettled(given);
  await updated(given);
  clearInterval(breaking);
  expect(await faultsAfter('dropped watches', given, clean)).toEqual([]);
  await operator.stop();
  await given.stop();
});

test.concurrent('events that come three seconds late', async () => {
  const clean = await faultFree(updated);
  const given = await faultStage('delayed');
  const operator = await given.operator();
  let last = Date.now();
  given.proxy.rules = {
    event: () => Math.max(0, (last = Math.max(last, Date.now() + 3000)) - Date.now()),
  };
  await deploy(given);
  await untilSettled(given, 120);
  await update(given);
  await wait(5000);
  given.proxy.rules = {};
  expect(await faultsAfter('delayed watches', given, clean)).toEqual([]);
  await operator.stop();
  await given.stop();
});

test.concurrent('watches that stay open and say nothing are given up, and what they kept back is found', async () => {
  const clean = await faultFree(updated);
  const given = await faultStage('silent');
  const operator = await given.operator();
  await deploy(given);
  await untilSettled(given);
  const deaf = given.proxy.journal.length;
  given.proxy.rules = { event: () => 'drop' };
  await update(given);
  await wait(1000);
  // New connections work, but the open ones stay silent for ever.
  const silent = given.proxy.journal.slice(0, deaf).filter(({ verb }) => verb === 'watch');
  given.proxy.rules = {
    event: (asked) => (silent.some((entry) => entry.path === asked.path) ? 'drop' : 'pass'),
  };
  const started = performance.now();
  await until(
    'the change is seen',
    async () => (await given.see.deployment(NAME)).status?.activeRevision === `${NAME}-00002`,
    CONVERGED_WITHIN,
  );
  process.stdout.write(
    `what silent watches kept back was done after ${((performance.now() - started) / 1000).toFixed(0)} s\n`,
  );
  expect(await faultsAfter('silent watches', given, clean)).toEqual([]);
  await operator.stop();
  await given.stop();
});

test('a deployment made and removed while no watch is open leaves nothing', async () => {
  const given = await faultStage('unseen');
  const operator = await given.operator();
  given.proxy.cut({ refuse: true });
  await deploy(given);
  await remove(given);
  given.proxy.mend();
  await untilGone(given);
  const { objects } = await given.world();
  expect(objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([]);
  await operator.stop();
  await given.stop();
});
