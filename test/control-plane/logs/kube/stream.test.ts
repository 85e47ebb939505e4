import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds } from '../../../../src/kube/kinds.ts';
import type { Kube } from '../../../../src/kube/kube.ts';
import type { Deployment } from '../../../../src/schema/platform/deployment/deployment.ts';
import { buildManagedLabels } from '../../../../src/schema/platform/objects/labels.ts';
import { creation, letGo, startPlane, type Plane } from '../../kit/api-server-plane.ts';

/** What pods have written, because no kubelet runs them. */
const written: Record<string, string[]> = {};
const asked: (string | undefined)[] = [];
/** While it is there, the node answers with no log. */
const held: { until?: PromiseWithResolvers<void> } = {};

const withLogs = (kube: Kube): Kube =>
  new Proxy(kube, {
    get: (target, name) => {
      if (name === 'readPodLog')
        return async (ref: { name: string }, { sinceTime }: { sinceTime?: string }) => {
          asked.push(sinceTime);
          await held.until?.promise;
          const from = sinceTime?.slice(0, 19) ?? '';
          return (written[ref.name] ?? []).filter((line) => line.slice(0, 19) >= from).join('\n');
        };
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });

let plane: Plane;
let made: Deployment;
beforeAll(async () => {
  plane = await startPlane('streamed', {}, { through: withLogs });
  made = (await plane.call<Deployment>('POST', '/v2/deployments', { body: creation('chat') })).body;
});
afterAll(() => plane.stop());

async function pod(name: string, revision = 'chat-00001'): Promise<void> {
  const spec = { containers: [{ name: 'agent', image: 'i' }] };
  const metadata = {
    name,
    namespace: plane.namespace,
    labels: buildManagedLabels('chat', 'api', revision),
  };
  await plane.kube.create(kinds.pod, { apiVersion: 'v1', kind: 'Pod', metadata, spec });
}

type Event = { event: string; id?: string; message?: string; reason?: string };

type Reading = {
  headers?: Record<string, string>;
  onOpen?: () => void;
  onEach?: (message: string) => void;
};

/** Reads a stream until the test ends it. */
async function* events(path: string, { headers, onOpen }: Reading): AsyncGenerator<Event> {
  const leaving = new AbortController();
  const response = await fetch(`${plane.url}${path}`, {
    headers: { 'x-api-key': plane.keys.read, ...headers },
    signal: leaving.signal,
  });
  expect([response.status, response.headers.get('content-type')]).toEqual([
    200,
    expect.stringContaining('text/event-stream'),
  ]);
  onOpen?.();
  let text = '';
  try {
    for await (const chunk of (response.body as ReadableStream<Uint8Array>).pipeThrough(
      new TextDecoderStream(),
    )) {
      const blocks = (text + chunk).split('\r\n\r\n');
      text = blocks.pop() ?? '';
      for (const block of blocks) {
        const [, event, data, id] =
          /^event: (.*)\r\ndata: (.*?)(?:\r\nid: (.*))?$/.exec(block) ?? [];
        if (event !== undefined)
          yield {
            event,
            ...(id !== undefined && { id }),
            ...(JSON.parse(data ?? 'null') as Omit<Event, 'event'>),
          };
      }
    }
  } finally {
    leaving.abort();
  }
}

async function messages(path: string, count: number, reading: Reading = {}) {
  const heard: Event[] = [];
  for await (const event of events(path, reading)) {
    heard.push(event);
    reading.onEach?.(event.message ?? '');
    if (heard.length === count) break;
  }
  return {
    heard: heard.map(({ message, event }) => message ?? event),
    last: heard.at(-1)?.id ?? '',
  };
}

test('begins with the last lines, goes on with new ones of old and new pods, and is taken up again where it ended', async () => {
  written.a = [
    '2026-01-01T00:00:01Z one',
    '2026-01-01T00:00:02.1Z two',
    '2026-01-01T00:00:02.1Z two as well',
  ];
  written.b = ['2026-01-01T00:00:01.5Z beside'];
  await Promise.all([pod('a'), pod('b')]);
  const path = `/v2/deployments/${made.id}/logs/stream`;
  const onEach = (message: string): void => {
    if (message === 'two as well') written.a?.push('2026-01-01T00:00:02.1Z two again');
    // This line is older than what was shown already. Its pod had not written it yet.
    if (message === 'two again') written.b?.push('2026-01-01T00:00:01.9Z late');
  };
  const { heard, last } = await messages(`${path}?tail=3`, 5, { onEach });
  expect(heard).toEqual(['beside', 'two', 'two as well', 'two again', 'late']);
  expect(asked).toContain('2026-01-01T00:00:02.1Z');
  written.a.push('2026-01-01T00:00:09Z {"level":"error","msg":"after"}');
  const resumed = await messages(path, 1, { headers: { 'last-event-id': last } });
  expect(resumed.heard[0]).toMatch(/two|after/);
  const errors = await messages(`${path}?level=ERROR`, 1);
  expect(errors.heard).toEqual(['{"level":"error","msg":"after"}']);
});

test('tells where lines were left out, and reads nothing for one reader alone', async () => {
  const { body } = await plane.call<Deployment>('POST', '/v2/deployments', {
    body: creation('chatty'),
  });
  const name = 'chatty-pod';
  const spec = { containers: [{ name: 'agent', image: 'i' }] };
  const metadata = {
    name,
    namespace: plane.namespace,
    labels: buildManagedLabels('chatty', 'api', 'chatty-00001'),
  };
  await plane.kube.create(kinds.pod, { apiVersion: 'v1', kind: 'Pod', metadata, spec });
  written[name] = ['2026-01-01T00:00:01Z first'];
  const more = Array.from({ length: 12_000 }, (_, index) => `2026-01-01T00:00:02Z ${index}`);
  const onEach = (message: string): void => {
    if (message === 'first') written[name]?.push(...more);
  };
  const { heard } = await messages(`/v2/deployments/${body.id}/logs/stream`, 2 + 5000, { onEach });
  expect([heard[0], heard[1], heard[2], heard.at(-1)]).toEqual(['first', 'gap', '7000', '11999']);
  expect(asked.filter((since) => since === undefined).length).toBeLessThan(10);
});

test('a key waits for few pages of logs at a time', async () => {
  const path = `/v2/deployments/${made.id}/logs`;
  held.until = Promise.withResolvers<void>();
  const pages = Array.from({ length: 10 }, () => plane.call('GET', path, { key: plane.keys.read }));
  let refusals = 0;
  for (const page of pages) void page.then(({ status }) => (refusals += status === 429 ? 1 : 0));
  await expect.poll(() => refusals).toBe(4);
  held.until.resolve();
  const answers = await Promise.all(pages);
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(6);
  expect(
    Number(answers.find(({ status }) => status === 429)?.headers.get('retry-after')),
  ).toBeGreaterThan(0);
});

test('of a revision shows its pods alone', async () => {
  written.other = ['2026-01-01T00:00:00Z of another revision'];
  written.first = ['2026-01-01T00:00:01Z of this one'];
  const { body } = await plane.call<Deployment>('PATCH', `/v2/deployments/${made.id}`, {
    body: { secrets: [] },
  });
  await Promise.all([pod('other', 'chat-00099'), pod('first', 'chat-00002')]);
  const { heard } = await messages(
    `/v2/deployments/${made.id}/revisions/${body.latest_revision_id}/logs/stream`,
    1,
  );
  expect(heard).toEqual(['of this one']);
});

test('ends when the deployment is gone, and is a 404 for one that never was', async () => {
  const { body: leaving } = await plane.call<Deployment>('POST', '/v2/deployments', {
    body: creation('leaving'),
  });
  const open = Promise.withResolvers<void>();
  const stream = messages(`/v2/deployments/${leaving.id}/logs/stream`, 1, { onOpen: open.resolve });
  await Promise.race([open.promise, stream]);
  await plane.call('DELETE', `/v2/deployments/${leaving.id}`);
  await letGo(plane, 'leaving');
  expect((await stream).heard).toEqual(['end']);
  expect((await plane.call('GET', `/v2/deployments/${leaving.id}/logs/stream`)).status).toBe(404);
  expect((await plane.call('GET', `/v2/deployments/${made.id}/logs/stream?tail=1001`)).status).toBe(
    422,
  );
});
