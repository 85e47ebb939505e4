import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Deployment } from '../../src/schema/platform/deployment/deployment.ts';
import { creation, startPlane, type Plane } from './kit/api-server-plane.ts';

let plane: Plane;
let other: Awaited<ReturnType<Plane['replica']>>;
beforeAll(async () => {
  plane = await startPlane('replicas');
  other = await plane.replica();
});
afterAll(async () => {
  await other.stop();
  await plane.stop();
});

const name = (): string => `d-${randomUUID().slice(0, 8)}`;
const secrets = [{ name: 'TOKEN', value: 'v' }];

test('what one replica wrote the other finds at once, changes, and removes', async () => {
  for (let round = 0; round < 10; round += 1) {
    const { body: made } = await plane.call<Deployment>('POST', '/v2/deployments', {
      body: creation(name(), { secrets }),
    });
    const path = `/v2/deployments/${made.id}`;
    expect((await other.call<Deployment>('GET', path)).body.name).toBe(made.name);
    expect((await other.call('GET', `${path}/revisions/${made.latest_revision_id}`)).status).toBe(
      200,
    );
    const { body: changed } = await other.call<Deployment>('PATCH', path, {
      body: { secrets: [] },
    });
    expect([changed.secrets, changed.latest_revision_id === made.latest_revision_id]).toEqual([
      [],
      false,
    ]);
    expect(
      (await plane.call('GET', `${path}/revisions/${changed.latest_revision_id}`)).status,
    ).toBe(200);
    expect(
      (await plane.call('PATCH', path, { body: {}, headers: { 'if-match': '"stale"' } })).status,
    ).toBe(412);
  }
});

test('both give the same answers to the same questions', async () => {
  const { body: made } = await plane.call<Deployment>('POST', '/v2/deployments', {
    body: creation(name(), { secrets }),
  });
  await other.call('PATCH', `/v2/deployments/${made.id}`, { body: { secrets } });
  const questions = [
    '/v2/deployments?limit=100',
    `/v2/deployments?name_contains=${made.name}`,
    `/v2/deployments/${made.id}`,
    `/v2/deployments/${made.id}/revisions`,
    '/v2/listeners',
    '/v2/tracing-projects',
    `/v2/deployments/${randomUUID()}`,
  ];
  const alike = async (question: string, key: string): Promise<boolean> => {
    const answers = await Promise.all(
      [plane, other].map(({ call }) => call('GET', question, { key })),
    );
    const [one, two] = answers.map(({ status, headers, body }) =>
      JSON.stringify([status, headers.get('etag'), body]),
    );
    return one === two;
  };
  for (const question of questions)
    for (const key of [plane.keys.write, plane.keys.read])
      await expect.poll(() => alike(question, key), { message: question }).toBe(true);
});

test('one request with an Idempotency-Key that reaches both makes one deployment, and both answer it', async () => {
  for (let round = 0; round < 5; round += 1) {
    const body = creation(name(), { secrets });
    const options = { body, headers: { 'idempotency-key': randomUUID() } };
    const answers = await Promise.all(
      [plane, other, plane, other].map(({ call }) =>
        call<Deployment>('POST', '/v2/deployments', options),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201]);
    expect(
      new Set(answers.map(({ body: { id, latest_revision_id } }) => `${id} ${latest_revision_id}`))
        .size,
    ).toBe(1);
  }
});

test('of two requests for one name at once one is told 409', async () => {
  const body = creation(name());
  const answers = await Promise.all(
    [plane, other].map(({ call }) => call('POST', '/v2/deployments', { body })),
  );
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 409]);
});
