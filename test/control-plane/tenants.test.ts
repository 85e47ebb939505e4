import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { kinds } from '../../src/kube/kinds.ts';
import type { Kind, Kube, KubeObject } from '../../src/kube/kube.ts';
import { fakeKubelet } from '../kit/fake-kubelet.ts';
import type { RunningOperator } from '../kit/operator.ts';
import { until } from '../kit/until.ts';
import { startPlane, type Plane } from './kit/api-server-plane.ts';
import { askedIn, COMMON_NAME, hostileObjects, makeTenant, type Tenant } from './kit/tenants.ts';

/*
 * Three tenants on one installation for the whole cluster. Each attacks both others, by what a user of its namespace
 * may make with kubectl and by every operation of REST. Whatever one gets to see may hold the canary of no other.
 */
const REQUESTS = 600;
const SEED = Number(process.env.GX_TEST_SEED ?? 17);

type Document = {
  paths: Record<
    string,
    Record<string, { parameters?: { name: string; in: string; required: boolean }[] }>
  >;
};
type Operation = { method: string; template: string; needsType: boolean };

let plane: Plane;
let operator: RunningOperator;
let tenants: Tenant[];
let operations: Operation[];

beforeAll(async () => {
  plane = await startPlane(
    'tenants',
    { namespaces: [], agentNamespaces: [] },
    { through: withLogs },
  );
  tenants = [];
  for (let count = 0; count < 3; count += 1)
    tenants.push(await makeTenant(plane.kube, plane.namespace, plane.call));
  for (const { namespace } of tenants) plane.endWith(fakeKubelet(plane.kube, namespace));
  operator = await plane.startOperator({
    config: { namespaces: tenants.map(({ namespace }) => namespace) },
    settings: { agentNamespaces: [] },
  });
  for (const tenant of tenants)
    await until('a tenant is served', async () => (await own(tenant)) === 'READY');
  for (const tenant of tenants) tenant.ids.project_id = await projectOf(tenant);
  for (const [attacker, victim] of pairs())
    for (const object of hostileObjects(attacker, victim)) await make(object);
  const served = async (): Promise<boolean[]> =>
    (
      await Promise.all(
        tenants.map(({ namespace }) => plane.kube.listAll(kinds.deployment, { namespace })),
      )
    )
      .flat()
      .map(({ status }) => status?.phase === 'READY');
  await until('what the attackers made has settled', async () => (await served()).every(Boolean));
  const { paths } = (await (await fetch(`${plane.url}/openapi.json`)).json()) as Document;
  operations = Object.entries(paths).flatMap(([template, methods]) =>
    Object.entries(methods).map(([method, { parameters = [] }]) => ({
      method: method.toUpperCase(),
      template,
      needsType: parameters.some(({ name, required }) => name === 'type' && required),
    })),
  );
}, 240_000);
afterAll(() => plane.stop());

/** The double of the kubelet keeps no logs, so each pod's log says whose it is. */
function withLogs(kube: Kube): Kube {
  const canaryOf = (place = ''): string =>
    tenants.find(({ namespace }) => namespace === place)?.canary ?? '';
  kube.readPodLog = async ({ namespace }) =>
    `2026-01-01T00:00:00Z line of ${canaryOf(namespace)}\n`;
  return kube;
}

const pairs = (): [Tenant, Tenant][] =>
  tenants.flatMap((a) => tenants.filter((b) => b !== a).map((b): [Tenant, Tenant] => [a, b]));
const others = (tenant: Tenant): string[] =>
  tenants.filter((other) => other !== tenant).map(({ canary }) => canary);

async function own({ keys, ids }: Tenant): Promise<unknown> {
  const { body } = await plane.call<{ status: string }>(
    'GET',
    `/v2/deployments/${ids.deployment_id}`,
    { key: keys.read },
  );
  return body.status;
}

async function projectOf({ keys, canary }: Tenant): Promise<string> {
  const path = `/v2/tracing-projects?name=${canary}-app`;
  const read = async () =>
    (await plane.call<{ resources: { id: string }[] }>('GET', path, { key: keys.read })).body
      .resources[0]?.id;
  await until('its tracing project is seen', async () => (await read()) !== undefined);
  return (await read()) ?? '';
}

async function make(object: KubeObject): Promise<void> {
  const kind = Object.values(kinds).find(
    (known) => known.kind === object.kind && known.apiVersion === object.apiVersion,
  );
  // Listeners count in the platform's namespace alone; a tenant can make one only in its own.
  await plane.kube.create(kind as Kind, object);
}

/** Numbers that look random, and are the same for the same seed. */
function randomFrom(seed: number): (count: number) => number {
  let state = seed;
  return (count) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * count);
  };
}

/** Bodies that a caller may send who knows the ids and namespaces of another tenant. */
const bodies = (victim: Tenant): unknown[] => {
  const source_config = {
    resource_spec: {},
    listener_id: victim.ids.listener_id,
    listener_config: { k8s_namespace: victim.namespace },
  };
  const image = { source_revision_config: { image_uri: 'registry.example/attack:1' } };
  return [
    {},
    image,
    { secrets: [{ name: 'TOKEN', value: 'attack' }] },
    { ...image, source_config: { custom_url: 'https://attack.example' } },
    { name: 'attack', source: 'external_container', source_config, ...image, secrets: [] },
    {
      name: COMMON_NAME,
      source: 'external_container',
      source_config: { resource_spec: {} },
      ...image,
      secrets: [],
    },
    {
      compute_type: 'k8s',
      compute_id: 'attack',
      compute_config: { k8s_namespaces: [victim.namespace] },
    },
    { compute_config: { k8s_namespaces: [victim.namespace] } },
  ];
};

/** Sends a request and returns all that came back. Of a stream, that is what comes within a moment. */
async function ask(
  attacker: Tenant,
  { method, template, needsType }: Operation,
  given: { ids: Tenant['ids']; body: unknown },
): Promise<string> {
  const path = template.replaceAll(
    /\{(\w+)\}/g,
    (_, name: string) => given.ids[name] ?? given.ids.deployment_id ?? '',
  );
  const query =
    template.endsWith('/deployments') && method === 'DELETE'
      ? `?deployment_ids=${given.ids.deployment_id}`
      : '';
  const isStream = /\/(events|stream)$/.test(template);
  const leaving = new AbortController();
  const answer = await fetch(
    `${plane.url}${path}${needsType && query === '' ? '?type=deploy' : query}`,
    {
      method,
      headers: {
        'x-api-key': attacker.keys.admin,
        ...(given.body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(given.body !== undefined && { body: JSON.stringify(given.body) }),
      signal: leaving.signal,
    },
  );
  const head = `${answer.status} ${JSON.stringify([...answer.headers])}`;
  if (!isStream) return `${head} ${await answer.text()}`;
  let text = '';
  const read = async (): Promise<void> => {
    for await (const chunk of answer.body ?? [])
      text += Buffer.from(chunk as Uint8Array).toString();
  };
  await Promise.race([read().catch(() => undefined), wait(250)]);
  leaving.abort();
  return `${head} ${text}`;
}

/** Returns where a text holds a canary that it may not hold. */
const leaks = (where: string, text: string, forbidden: string[]): string[] =>
  forbidden
    .filter((canary) => text.includes(canary))
    .map(
      (canary) =>
        `${where}: ${text.slice(Math.max(0, text.indexOf(canary) - 300), text.indexOf(canary) + 50)}`,
    );

describe('of three tenants that attack each other', () => {
  test(`no answer to one holds a canary of another, and no request of one changes anything of another (seed ${SEED})`, async () => {
    const random = randomFrom(SEED);
    const pick = <T>(list: readonly T[]): T => list[random(list.length)] as T;
    const found: string[] = [];
    const statuses = new Set<string>();
    // Each tenant attacks in turn, so that what the others have must stay as it was.
    for (const attacker of tenants) {
      const victims = tenants.filter((other) => other !== attacker);
      const before = await Promise.all(
        victims.map(({ namespace }) => askedIn(plane.kube, namespace)),
      );
      for (let count = 0; count < REQUESTS / tenants.length; count += 1) {
        const operation = operations[count % operations.length] as Operation;
        const victim = pick(victims);
        const isOwn = random(4) === 0 && operation.method === 'GET';
        const ids = isOwn
          ? attacker.ids
          : {
              ...attacker.ids,
              ...victim.ids,
              ...(random(3) === 0 && { deployment_id: attacker.ids.deployment_id }),
            };
        const body = ['POST', 'PATCH'].includes(operation.method)
          ? pick(bodies(victim))
          : undefined;
        // What is the attacker's own may change; it is not to be deleted before all was tried.
        if (operation.method === 'DELETE' && ids.deployment_id === attacker.ids.deployment_id)
          continue;
        const text = await ask(attacker, operation, { ids, body });
        statuses.add(text.slice(0, 3));
        found.push(...leaks(`${operation.method} ${operation.template}`, text, others(attacker)));
      }
      const after = await Promise.all(
        victims.map(({ namespace }) => askedIn(plane.kube, namespace)),
      );
      const touched = before.flatMap((objects, index) =>
        Object.keys(objects).filter((name) => after[index]?.[name] !== objects[name]),
      );
      expect(touched).toEqual([]);
      expect(after.map((objects) => Object.keys(objects))).toEqual(
        before.map((objects) => Object.keys(objects)),
      );
    }
    expect(found).toEqual([]);
    expect([...statuses].toSorted()).toEqual(expect.arrayContaining(['200', '400', '404', '422']));
    expect([...statuses].filter((status) => status.startsWith('5'))).toEqual([]);
  });

  test('each finds its own as it was, under the id that it has', async () => {
    for (const { keys, ids, canary } of tenants) {
      const { body } = await plane.call<{ name: string; secrets: unknown }>(
        'GET',
        `/v2/deployments/${ids.deployment_id}`,
        {
          key: keys.admin,
        },
      );
      expect(body.name).toBe(`${canary}-app`);
    }
  });

  test('no object and no Kubernetes event in the namespace of one holds a canary of another', async () => {
    const found: string[] = [];
    for (const tenant of tenants) {
      const { namespace } = tenant;
      const made: Kind[] = [
        kinds.deployment,
        kinds.event,
        kinds.service,
        kinds.workload,
        kinds.statefulSet,
        kinds.networkPolicy,
      ];
      const lists = await Promise.all(
        made.map((kind) => plane.kube.listAll<KubeObject>(kind, { namespace })),
      );
      for (const object of lists.flat())
        found.push(
          ...leaks(
            `${object.kind} ${object.metadata.name}`,
            JSON.stringify(object),
            others(tenant),
          ),
        );
    }
    expect(found).toEqual([]);
  });

  test('metrics name no more than an alert needs, and no log line holds a secret or canaries of two', async () => {
    const scraped = async (url: string): Promise<string> => (await fetch(`${url}/metrics`)).text();
    const canaries = tenants.map(({ canary }) => canary);
    expect(
      leaks('metrics', await scraped(plane.metricsUrl.replace('/metrics', '')), canaries),
    ).toEqual([]);
    // The operator's series of a deployment have its name, and those of a revision the revision's.
    const named = /\b(?:namespace|deployment|revision)="[^"]*"/g;
    expect(
      leaks(
        'metrics',
        (await scraped(`http://127.0.0.1:${operator.port}`)).replaceAll(named, ''),
        canaries,
      ),
    ).toEqual([]);
    const lines = plane.logged().split('\n');
    expect(
      lines.filter((line) => canaries.some((canary) => line.includes(`${canary}-secret`))),
    ).toEqual([]);
    expect(
      lines.filter((line) => canaries.filter((canary) => line.includes(canary)).length > 1),
    ).toEqual([]);
  });
});
