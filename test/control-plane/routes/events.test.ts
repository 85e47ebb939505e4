import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds } from '../../../src/kube/kinds.ts';
import type { Deployment } from '../../../src/schema/platform/deployment/deployment.ts';
import type { Revision } from '../../../src/schema/platform/deployment/revision.ts';
import { creation, letGo, startPlane, type Plane } from '../kit/api-server-plane.ts';
import { messagesOf, type Message } from '../kit/event-stream.ts';

let plane: Plane;
beforeAll(async () => {
  plane = await startPlane('events');
});
afterAll(() => plane.stop());

const make = async (name: string): Promise<Deployment> =>
  (
    await plane.call<Deployment>('POST', '/v2/deployments', {
      body: creation(name, { secrets: [{ name: 'A', value: 'hidden' }] }),
    })
  ).body;
const report = (name: string, phase: string) =>
  plane.kube.patchStatus(
    kinds.revision,
    { namespace: plane.namespace, name: `${name}-00001` },
    { phase },
  );
const reportServing = (name: string) =>
  plane.kube.patchStatus(
    kinds.deployment,
    { namespace: plane.namespace, name },
    { activeRevision: `${name}-00001`, phase: 'READY' },
  );

async function* events(path: string): AsyncGenerator<Message> {
  yield* messagesOf(
    await fetch(`${plane.url}${path}`, { headers: { 'x-api-key': plane.keys.read } }),
  );
}

test('a revision can be followed until it has ended, which its deployment knows by then', async () => {
  const made = await make('followed');
  const seen: unknown[] = [];
  const messages: unknown[] = [];
  for await (const { event, data } of events(
    `/v2/deployments/${made.id}/revisions/${made.latest_revision_id}/events`,
  )) {
    seen.push(event === 'end' ? data.reason : data.status);
    if (data.status === 'CREATING') await report('followed', 'DEPLOYING');
    if (data.status !== 'DEPLOYING') continue;
    messages.push(data.status_message);
    await (messages.length === 1 ? report('followed', 'DEPLOYED') : reportServing('followed'));
  }
  expect(seen).toEqual(['CREATING', 'DEPLOYING', 'DEPLOYING', 'DEPLOYED', 'ended']);
  expect(messages).toEqual([null, 'All pods are ready; traffic is being switched.']);
  const { body } = await plane.call<Deployment>('GET', `/v2/deployments/${made.id}`);
  expect(body).toMatchObject({ status: 'READY', active_revision_id: made.latest_revision_id });
});

test('a deployment can be followed until it is gone, by a reader without the values of its secrets', async () => {
  const made = await make('leaving');
  const seen: unknown[] = [];
  const told: unknown[] = [];
  for await (const { event, data } of events(`/v2/deployments/${made.id}/events`)) {
    seen.push(event === 'end' ? data.reason : data.status);
    told.push(data.secrets ?? []);
    if (data.status === 'AWAITING_DATABASE')
      await plane.call('DELETE', `/v2/deployments/${made.id}`);
    if (data.status === 'AWAITING_DELETE') await letGo(plane, 'leaving');
  }
  expect(seen).toEqual(['AWAITING_DATABASE', 'AWAITING_DELETE', 'gone']);
  const nameAlone = [{ name: 'A', value: '' }];
  expect(told).toEqual([nameAlone, nameAlone, []]);
});

test('what is not there is answered with 404 before a stream begins', async () => {
  const made = await make('stranger');
  for (const path of [
    `/v2/deployments/${made.latest_revision_id}/events`,
    `/v2/deployments/${made.id}/revisions/${made.id}/events`,
  ])
    expect((await plane.call('GET', path)).status).toBe(404);
});

test('GET of a revision can wait for its end, but not for ever', async () => {
  const made = await make('awaited');
  const path = `/v2/deployments/${made.id}/revisions/${made.latest_revision_id}`;
  const started = performance.now();
  const waiting = plane.call<Revision>('GET', `${path}?wait=30`);
  await report('awaited', 'DEPLOYED');
  await reportServing('awaited');
  expect((await waiting).body.status).toBe('DEPLOYED');
  expect(performance.now() - started).toBeLessThan(25_000);
  const endless = await make('endless');
  const late = await plane.call<Revision>(
    'GET',
    `/v2/deployments/${endless.id}/revisions/${endless.latest_revision_id}?wait=1`,
  );
  expect(late.body.status).toBe('CREATING');
  expect((await plane.call('GET', `${path}?wait=51`)).status).toBe(422);
});
