import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { kinds } from '../../../src/kube/kinds.ts';
import type { DeploymentResource } from '../../../src/schema/platform/resources/custom-resources.ts';
import type { Deployment } from '../../../src/schema/platform/deployment/deployment.ts';
import type {
  DeploymentCounts,
  DeploymentDetails,
  DeploymentSummary,
} from '../../../src/schema/platform/deployment/deployment-summary.ts';
import { until } from '../../kit/until.ts';
import { creation, letGo, startPlane, TENANT_A, type Plane } from '../kit/api-server-plane.ts';
import { messagesOf, type Message } from '../kit/event-stream.ts';

let plane: Plane;
const made: Record<string, Deployment> = {};
const NAMES = ['asleep', 'broken', 'new', 'serves'];
beforeAll(async () => {
  plane = await startPlane('overview');
  for (const name of NAMES)
    made[name] = (
      await plane.call<Deployment>('POST', '/v2/deployments', {
        body: creation(name, { secrets: [{ name: 'A', value: 'hidden' }] }),
      })
    ).body;
  const serving = {
    type: 'Serving',
    status: 'True',
    reason: 'Serving',
    message: 'It serves.',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  };
  const serve = async (name: string, more: object = {}) => {
    await revision(name, { phase: 'DEPLOYED' });
    await report(name, {
      phase: 'READY',
      activeRevision: `${name}-00001`,
      conditions: [serving],
      ...more,
    });
  };
  await serve('serves', { serverVersion: '1.2.3' });
  await serve('asleep', {
    asleepSince: '2026-01-01T00:00:00Z',
    nextDueAt: '2027-01-01T00:00:00Z',
    conditions: [],
  });
  await revision('broken', {
    phase: 'DEPLOY_FAILED',
    reason: 'ImagePullFailed',
    message: 'There is no such image.',
  });
  await until(
    'all states are seen',
    async () => (await counts()).by_state.failed === 1 && (await counts()).by_state.asleep === 1,
  );
});
afterAll(() => plane.stop());

const report = (name: string, status: object) =>
  plane.kube.patchStatus(kinds.deployment, { namespace: plane.namespace, name }, status);
const revision = (name: string, status: object) =>
  plane.kube.patchStatus(
    kinds.revision,
    { namespace: plane.namespace, name: `${name}-00001` },
    status,
  );
const counts = async (): Promise<DeploymentCounts> =>
  (await plane.call<DeploymentCounts>('GET', '/v2/deployment-counts', { key: plane.keys.read }))
    .body;
const list = async (query: string) =>
  (
    await plane.call<{ resources: DeploymentSummary[]; offset: number; total?: number }>(
      'GET',
      `/v2/deployments?view=summary${query}`,
      {
        key: plane.keys.read,
      },
    )
  ).body;
const pathOf = (name: string, rest = ''): string => `/v2/deployments/${made[name]?.id}${rest}`;
const stateOf = async (name: string): Promise<DeploymentDetails> =>
  (await plane.call<DeploymentDetails>('GET', pathOf(name, '/state'))).body;

test('a summary says how each deployment is, and shows nothing of its secrets', async () => {
  const { resources, total } = await list('&sort=name&total=true');
  expect(total).toBe(4);
  expect(resources.map(({ name, state, reason }) => [name, state, reason])).toEqual([
    ['asleep', 'asleep', null],
    ['broken', 'failed', 'ImagePullFailed'],
    ['new', 'rolling_out', null],
    ['serves', 'serving', 'Serving'],
  ]);
  expect(resources[3]).toMatchObject({
    id: made.serves?.id,
    namespace: plane.namespace,
    serving: true,
    image_uri: 'registry.example/agent:1',
    image_version: '1.2.3',
    latest_revision: { id: made.serves?.latest_revision_id, number: 1, status: 'DEPLOYED' },
    active_revision: { id: made.serves?.latest_revision_id },
  });
  const text = JSON.stringify(resources);
  expect([text.includes('hidden'), text.includes('secret')]).toEqual([false, false]);
});

test.each([
  ['&state=failed', ['broken']],
  ['&state=failed&state=asleep', ['asleep', 'broken']],
  ['&reason=ImagePullFailed', ['broken']],
  ['&name_contains=e&state=serving', ['serves']],
  ['&source=git', []],
  ['&namespace=elsewhere', []],
])('summaries are filtered by %s', async (query, names) => {
  expect((await list(`${query}&sort=name`)).resources.map(({ name }) => name)).toEqual(names);
});

test('a sorted list is paged without gap or repeat', async () => {
  const page = async (offset: number) =>
    (await list(`&sort=-name&limit=3&offset=${offset}`)).resources.map(({ name }) => name);
  expect([await page(0), await page(3), await page(4)]).toEqual([
    ['serves', 'new', 'broken'],
    ['asleep'],
    [],
  ]);
  expect((await plane.call('GET', '/v2/deployments?view=summary&limit=501')).status).toBe(422);
  expect((await plane.call('GET', '/v2/deployments?view=summary&limit=500')).status).toBe(200);
  expect((await plane.call('GET', '/v2/deployments?sort=color')).status).toBe(422);
});

test('deployments are counted by state, status and reason; another tenant counts none of them', async () => {
  expect(await counts()).toMatchObject({
    total: 4,
    by_state: { asleep: 1, failed: 1, rolling_out: 1, serving: 1, unavailable: 0 },
    by_status: { READY: 2, AWAITING_DATABASE: 2 },
    by_reason: { ImagePullFailed: 1 },
  });
  const { body } = await plane.call<DeploymentCounts>('GET', '/v2/deployment-counts', {
    key: plane.keys.other,
  });
  expect(body).toMatchObject({ total: 0, by_reason: {} });
});

test('usage is a row for each deployment that reports some, or the sum of its tenant', async () => {
  type Page = { day: string; total: number; resources: Record<string, unknown>[] };
  const read = async (query = '', key = plane.keys.read) =>
    (await plane.call<Page>('GET', `/v2/usage${query}`, { key })).body;
  expect((await read()).resources).toEqual([]);
  const { day } = await read();
  const usage = (calls: number, costUsd?: string) => ({
    usageToday: {
      day,
      calls,
      unreportedCalls: 0,
      unpricedCalls: costUsd === undefined ? calls : 0,
      inputTokens: 100,
      cacheReadTokens: 0,
      outputTokens: 10,
      ...(costUsd !== undefined && { costUsd }),
    },
  });
  await report('serves', usage(2, '1.25'));
  await report('asleep', usage(7));
  const rows = await until('both are seen', async () => {
    const { resources } = await read();
    return resources.length === 2 && resources;
  });
  expect(rows).toMatchObject([
    { name: 'serves', deployment_id: made.serves?.id, today: { calls: 2, cost_usd: 1.25 } },
    { name: 'asleep', today: { calls: 7, unpriced_calls: 7, cost_usd: null }, yesterday: null },
  ]);
  expect((await read('?group_by=tenant')).resources).toEqual([
    {
      tenant_id: TENANT_A,
      deployments: 2,
      today: {
        calls: 9,
        unreported_calls: 0,
        unpriced_calls: 7,
        input_tokens: 200,
        cache_read_tokens: 0,
        output_tokens: 20,
        cost_usd: 1.25,
      },
      yesterday: null,
    },
  ]);
  expect((await list('&sort=name')).resources[3]?.usage_today).toMatchObject({ calls: 2 });
  const other = await read('?group_by=tenant', plane.keys.other);
  expect(other.resources).toMatchObject([{ deployments: 0, today: null, yesterday: null }]);
  expect((await read('', plane.keys.other)).resources).toEqual([]);
  expect((await plane.call('GET', '/v2/usage?group_by=user')).status).toBe(422);
  expect((await plane.call('GET', '/v2/usage', { key: null })).status).toBe(401);
});

test('the resource is shown as kubectl shows it, as JSON or YAML', async () => {
  const { body } = await plane.call<DeploymentResource>('GET', pathOf('serves', '/resource'), {
    key: plane.keys.read,
  });
  const stored = await plane.kube.get(kinds.deployment, {
    namespace: plane.namespace,
    name: 'serves',
  });
  const { managedFields: _fields, ...metadata } = stored.metadata;
  expect(body).toEqual({ ...stored, metadata });
  const headers = { 'x-api-key': plane.keys.read, accept: 'application/yaml' };
  const yaml = await fetch(`${plane.url}${pathOf('serves', '/resource')}`, { headers });
  expect(yaml.headers.get('content-type')).toContain('application/yaml');
  expect(parse(await yaml.text())).toEqual(body);
});

test('a caller learns whose credentials these are', async () => {
  const { body } = await plane.call('GET', '/v2/whoami', { key: plane.keys.read });
  expect(body).toMatchObject({
    name: 'reader',
    role: 'read',
    tenant_id: TENANT_A,
    tenants: [TENANT_A],
    expires_at: null,
  });
  expect(body).toMatchObject({ features: { hosting: 'self-hosted', routes: false } });
  expect((await plane.call('GET', '/v2/whoami', { key: null })).status).toBe(401);
});

test('a deployment is hibernated and woken again without a revision', async () => {
  const patch = (body: object, headers = {}) =>
    plane.call<DeploymentDetails>('PATCH', pathOf('serves', '/lifecycle'), { body, headers });
  const { headers } = await plane.call('GET', pathOf('serves', '/state'));
  const first = await patch(
    { hibernate: true, sleep: { after_seconds: 60 } },
    { 'if-match': headers.get('etag') ?? '' },
  );
  expect(first.body).toMatchObject({
    state: 'hibernated',
    lifecycle: {
      hibernate: true,
      suspend: null,
      sleep: { after_seconds: 60, database: null },
      queue_replicas: null,
      budgets: null,
    },
  });
  expect(
    (await patch({ hibernate: false }, { 'if-match': headers.get('etag') ?? '' })).status,
  ).toBe(412);
  const stored = await plane.kube.get(kinds.deployment, {
    namespace: plane.namespace,
    name: 'serves',
  });
  expect(stored.spec).toMatchObject({ hibernate: true, sleep: { afterSeconds: 60 } });
  expect(stored.metadata.annotations?.['gx.dev/requested-by']).toContain('writer');
  const budgets = [{ name: 'day', per: 'user', unit: 'usd', within: 'day', hard: 5 }];
  expect((await patch({ budgets })).body.lifecycle).toMatchObject({ budgets });
  const last = await patch({ hibernate: null, sleep: null });
  expect(last.body.lifecycle).toMatchObject({ hibernate: null, sleep: null, budgets });
  expect((await plane.call<Deployment>('GET', pathOf('serves'))).body.latest_revision_id).toBe(
    made.serves?.latest_revision_id,
  );
});

test.each([
  [{ hibernate: 'yes' }, 422, 'hibernate'],
  [{ sleep: { after_seconds: 1 } }, 422, 'after_seconds'],
  [{ queue_replicas: -1 }, 422, 'queue_replicas'],
  [{ asleep: true }, 422, 'asleep'],
  [{ budgets: [{ name: 'a', per: 'user', unit: 'usd', hard: -1 }] }, 422, 'hard'],
  [{ budgets: [{ name: 'a', per: 'user', unit: 'usd' }] }, 422, 'hard'],
  [{ budgets: [{ name: 'a', per: 'run', unit: 'usd', hard: 1, within: 'day' }] }, 422, 'within'],
  [{ budgets: [{ name: 'a', per: 'user', unit: 'calls', hard: 0.5 }] }, 422, 'hard'],
  [{ budgets: [{ name: 'a', per: 'user', unit: 'usd', hard: 1e30 }] }, 422, 'hard'],
  [
    { budgets: [{ name: 'a', per: 'user', unit: 'usd', hard: 1, timezone: 'Mars' }] },
    422,
    'timezone',
  ],
])('a change of the lifecycle to %j is answered with %i', async (body, status, field) => {
  const answer = await plane.call('PATCH', pathOf('serves', '/lifecycle'), { body });
  expect(answer.status).toBe(status);
  expect(JSON.stringify(answer.body)).toContain(field);
  expect(
    (await plane.call('PATCH', pathOf('serves', '/lifecycle'), { body, key: plane.keys.read }))
      .status,
  ).toBe(403);
});

test('a sleeper is woken by name of its sleep; one that is awake stays as it is', async () => {
  const { status, body } = await plane.call<DeploymentDetails>('POST', pathOf('asleep', '/wake'));
  expect([status, body.next_due_at]).toEqual([202, '2027-01-01T00:00:00Z']);
  const annotationsOf = async (name: string) =>
    (await plane.kube.get(kinds.deployment, { namespace: plane.namespace, name })).metadata
      .annotations;
  expect(await annotationsOf('asleep')).toMatchObject({ 'gx.dev/wake': '2026-01-01T00:00:00Z' });
  expect((await plane.call('POST', pathOf('new', '/wake'))).status).toBe(202);
  expect(await annotationsOf('new')).not.toHaveProperty('gx.dev/wake');
  expect(
    (await plane.call('POST', pathOf('asleep', '/wake'), { key: plane.keys.read })).status,
  ).toBe(403);
});

/** Reads the stream of all changes until `enough` of the messages so far. */
async function messages(
  { key = plane.keys.read, after }: { key?: string; after?: string },
  enough: (seen: Message[]) => boolean | Promise<boolean>,
): Promise<Message[]> {
  const leaving = new AbortController();
  const headers = { 'x-api-key': key, ...(after !== undefined && { 'last-event-id': after }) };
  const response = await fetch(`${plane.url}/v2/events`, { headers, signal: leaving.signal });
  const seen: Message[] = [];
  for await (const message of messagesOf(response)) {
    seen.push(message);
    if (await enough(seen)) break;
  }
  leaving.abort();
  return seen;
}

test('one stream brings the changes of all deployments, newer than the list, and goes on behind the last message', async () => {
  const before = (await list('&name_contains=broken')).resources[0];
  let begun = false;
  const seen = await messages({}, async (events) => {
    if (!begun) {
      begun = true;
      await revision('broken', { phase: 'DEPLOYED', reason: null, message: null });
    }
    return events.some(
      ({ event, data }) =>
        event === 'deployment' &&
        (data.latest_revision as { status: string }).status === 'DEPLOYED',
    );
  });
  expect(seen[0]).toMatchObject({ event: 'ready', id: expect.stringMatching(/^\w+\.\d+$/) });
  const last = seen.at(-1);
  expect(last?.data).toMatchObject({ name: 'broken' });
  expect(BigInt(String(last?.data.version)) > BigInt(before?.version ?? '0')).toBe(true);
  const body = creation('later');
  const { id } = (await plane.call<Deployment>('POST', '/v2/deployments', { body })).body;
  await plane.call('DELETE', `/v2/deployments/${id}`);
  await letGo(plane, 'later');
  await until(
    'it is gone',
    async () => (await plane.call('GET', `/v2/deployments/${id}`)).status === 404,
  );
  const missed = await messages({ after: last?.id ?? '' }, (events) =>
    events.some(({ event }) => event === 'gone'),
  );
  expect(missed.map(({ event, data }) => [event, data.id])).toContainEqual(['gone', id]);
  expect(missed.map(({ event }) => event)).not.toContain('ready');
});

test('a stream that can not go on says that the list has to be read again', async () => {
  const seen = await messages({ after: 'another.12' }, (events) => events.length > 0);
  expect(seen[0]?.event).toBe('resync');
});

test("a stream brings nothing of another tenant's", async () => {
  let begun = false;
  const seen = await messages({ key: plane.keys.other }, async () => {
    if (begun) return true;
    begun = true;
    await report('serves', { message: 'Changed.' });
    await until('the change is seen', async () => JSON.stringify(await stateOf('serves')) !== '');
    // A change of a listener may give any deployment another owner, so everybody hears of it.
    await plane.kube.patchJson(kinds.listener, { namespace: plane.namespace, name: 'default' }, [
      { op: 'replace', path: '/spec/computeId', value: 'other' },
    ]);
    return false;
  });
  expect(seen.map(({ event }) => event)).toEqual(['ready', 'resync']);
});
