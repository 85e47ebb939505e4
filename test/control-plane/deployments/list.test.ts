import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { kinds } from '../../../src/kube/kinds.ts';
import type { Deployment } from '../../../src/schema/platform/deployment/deployment.ts';
import { until } from '../../kit/until.ts';
import { creation, startPlane, type Plane } from '../kit/api-server-plane.ts';

let plane: Plane;
const made: Record<string, Deployment> = {};

beforeAll(async () => {
  plane = await startPlane('list');
  for (const name of ['alpha', 'beta', 'gamma', 'alpha-two', 'delta'])
    made[name] = (
      await plane.call<Deployment>('POST', '/v2/deployments', {
        body: creation(name, { secrets: [{ name: 'A', value: name }] }),
      })
    ).body;
  await plane.kube.patchStatus(
    kinds.deployment,
    { namespace: plane.namespace, name: 'beta' },
    { phase: 'READY', serverVersion: '1.2.3', observedGeneration: 1 },
  );
  const status = async () =>
    (await plane.call<Deployment>('GET', `/v2/deployments/${made.beta?.id}`)).body.status;
  await until('the status is seen', async () => (await status()) === 'READY');
});
afterAll(() => plane.stop());

type Page = { resources: Deployment[]; offset: number };
const list = (query = '') => plane.call<Page>('GET', `/v2/deployments${query}`);
const names = async (query: string): Promise<string[]> =>
  (await list(query)).body.resources.map(({ name }) => name).toSorted();

describe('GET /v2/deployments', () => {
  test('lists newest first, each as its own GET shows it', async () => {
    const { body } = await list();
    expect(body.resources.map(({ created_at }) => created_at)).toEqual(
      body.resources
        .map(({ created_at }) => created_at)
        .toSorted()
        .toReversed(),
    );
    for (const deployment of body.resources)
      expect(
        (await plane.call<Deployment>('GET', `/v2/deployments/${deployment.id}`)).body,
      ).toEqual(deployment);
    expect(body.offset).toBe(5);
  });

  test('pages without gap or repeat until a short page', async () => {
    const seen: string[] = [];
    for (let offset = 0; ;) {
      const { body } = await list(`?limit=2&offset=${offset}`);
      seen.push(...body.resources.map(({ name }) => name));
      expect(body.offset).toBe(offset + body.resources.length);
      offset = body.offset;
      if (body.resources.length < 2) break;
    }
    expect(seen.toSorted()).toEqual(['alpha', 'alpha-two', 'beta', 'delta', 'gamma']);
    expect((await list('?offset=99')).body).toEqual({ resources: [], offset: 99 });
  });

  test.each([
    ['a part of the name', '?name_contains=ALPHA', ['alpha', 'alpha-two']],
    ['the whole name', '?name=alpha', ['alpha']],
    ['a status', '?status=READY', ['beta']],
    ['a version of the server', '?image_version=1.2.3', ['beta']],
    ['a deployment type that none has', '?deployment_type=prod', []],
    ['whether the operator has seen it', '?remote_reconciled=true', ['beta']],
    [
      'several filters',
      '?name_contains=a&status=AWAITING_DATABASE&limit=100',
      ['alpha', 'alpha-two', 'delta', 'gamma'],
    ],
  ])('filters by %s', async (_, query, expected) => {
    expect(await names(query)).toEqual(expected);
  });

  test('filters by ids, repeated or separated by commas', async () => {
    const [alpha, beta] = [made.alpha?.id, made.beta?.id];
    expect(await names(`?deployment_ids=${alpha},${beta}`)).toEqual(['alpha', 'beta']);
    expect(await names(`?deployment_ids=${alpha}&deployment_ids=${beta}`)).toEqual([
      'alpha',
      'beta',
    ]);
    expect(await names('?deployment_ids=none')).toEqual([]);
  });

  test.each([
    ['?limit=0', 'limit'],
    ['?limit=101', 'limit'],
    ['?limit=many', 'limit'],
    ['?offset=-1', 'offset'],
    ['?status=GREAT', 'status'],
    ['?nam=alpha', 'nam'],
  ])('answers 422 to %s', async (query, field) => {
    const { status, body } = await plane.call<{ detail: { loc: string[] }[] }>(
      'GET',
      `/v2/deployments${query}`,
    );
    expect([status, body.detail[0]?.loc]).toEqual([422, ['query', field]]);
  });

  test('shows names of secrets alone to a key that may only read', async () => {
    const { body } = await plane.call<Page>('GET', '/v2/deployments?name=beta', {
      key: plane.keys.read,
    });
    expect(body.resources[0]?.secrets).toEqual([{ name: 'A', value: '' }]);
  });
});

test.each(['/v2/deployments/1', '/v2/deployments/not-a-uuid/revisions', `/v2/listeners/x`])(
  '%s is answered with 422',
  async (path) => {
    expect((await plane.call('GET', path)).status).toBe(422);
  },
);
