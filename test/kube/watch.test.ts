import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { Cache } from '../../src/kube/cache.ts';
import { connect } from '../../src/kube/client.ts';
import { kinds } from '../../src/kube/kinds.ts';
import type { Kube, KubeObject } from '../../src/kube/kube.ts';
import { Reflector, type WatchTimings } from '../../src/kube/watch.ts';
import { startApiServer, type ApiServer } from '../kit/api-server.ts';
import { auditEvents } from '../kit/audit-log.ts';
import { until } from '../kit/until.ts';
import { silentLog } from '../kit/log.ts';
import { tcpProxy, type TcpProxy } from '../kit/tcp-proxy.ts';

/* These tests have a server of their own, because they kill it. */
let server: ApiServer;
let kube: Kube;
let proxy: TcpProxy;
const running: Reflector[] = [];
const namespace = 'default';

beforeAll(async () => {
  server = await startApiServer({ controllers: false });
  kube = await connect({
    fieldManager: 'test',
    userAgent: 'test/watch',
    kubeconfig: server.kubeconfig,
  });
  proxy = await tcpProxy(server.kubeconfig);
});
afterEach(async () => {
  await Promise.all(running.splice(0).map((reflector) => reflector.stop()));
  proxy.mend();
  for (const secret of await kube.listAll(kinds.secret, { namespace }))
    await kube.delete(kinds.secret, secret.metadata);
});
afterAll(async () => {
  proxy.stop();
  await kube.close();
  await server.stop();
});

const create = (name: string): Promise<KubeObject> =>
  kube.create(kinds.secret, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace },
    stringData: { a: 'b' },
  });
const remove = (name: string): Promise<boolean> => kube.delete(kinds.secret, { namespace, name });
const namesIn = (cache: Cache): string[] =>
  cache
    .list()
    .map(({ metadata }) => metadata.name)
    .toSorted();

type Observed = { cache: Cache; reflector: Reflector; missed: number; relists: number };

async function observe(
  userAgent: string,
  timings: Partial<WatchTimings> = {},
  through?: (kube: Kube) => Kube,
): Promise<Observed> {
  const own = await connect({ fieldManager: 'test', userAgent, kubeconfig: proxy.kubeconfig });
  const seen = { missed: 0, relists: 0 };
  const cache = new Cache();
  const reflector = new Reflector({
    kube: through?.(own) ?? own,
    kind: kinds.secret,
    cache,
    namespace,
    log: silentLog(),
    observer: {
      relisted: () => {
        seen.relists += 1;
      },
      missed: (_, count) => {
        seen.missed += count;
      },
    },
    timings,
  });
  running.push(reflector);
  reflector.start();
  return Object.assign(seen, { cache, reflector });
}

test('changes reach the cache, without managedFields', async () => {
  const { cache, reflector } = await observe('test/plain');
  await reflector.synced;
  await create('one');
  await until('the change is seen', () => namesIn(cache).includes('one'));
  expect(cache.get('default/one')?.metadata).not.toHaveProperty('managedFields');
  await remove('one');
  await until('the deletion is seen', () => namesIn(cache).length === 0);
});

test('after kill -9 and restart of the API server the watch goes on, without a storm of requests', async () => {
  const { cache, reflector } = await observe('test/killed');
  await reflector.synced;
  await create('before');
  await until('the first object is seen', () => namesIn(cache).includes('before'));
  await server.kill();
  await new Promise((resolve) => {
    setTimeout(resolve, 2000);
  });
  await server.restart();
  const back = Date.now();
  await create('after');
  await until('the next object is seen', () => namesIn(cache).includes('after'), 30);
  expect(Date.now() - back).toBeLessThan(30_000);
  expect(auditEvents(server.auditLog, 'test/killed').length).toBeLessThan(12);
});

test('a deletion during an outage is found, also when the old version is gone (410)', async () => {
  const { cache, reflector } = await observe('test/gone');
  await reflector.synced;
  await create('deleted-meanwhile');
  await create('stays');
  await until('both are seen', () => namesIn(cache).length === 2);
  proxy.cut();
  await remove('deleted-meanwhile');
  await create('made-meanwhile');
  await server.compact();
  await server.kill();
  await server.restart();
  proxy.mend();
  await until(
    'the cache is right again',
    () => namesIn(cache).join() === 'made-meanwhile,stays',
    30,
  );
  expect(namesIn(cache)).toEqual(['made-meanwhile', 'stays']);
});

test('a first list that fails is tried again', async () => {
  proxy.cut();
  const { cache, reflector } = await observe('test/late');
  await create('there');
  await new Promise((resolve) => {
    setTimeout(resolve, 1000);
  });
  proxy.mend();
  await reflector.synced;
  expect(namesIn(cache)).toEqual(['there']);
});

test('a watch that stays open and says nothing is given up', async () => {
  const { cache, reflector } = await observe('test/silent', { inactivity: 1500 });
  await reflector.synced;
  await create('heard');
  await until('the watch works', () => namesIn(cache).includes('heard'));
  proxy.silence();
  await create('unheard');
  await until('the object is seen all the same', () => namesIn(cache).includes('unheard'), 10);
  expect(namesIn(cache)).toContain('unheard');
});

test('on a connection that lives, a watch that says nothing is given up within half a minute, and nothing is listed again', async () => {
  let isDeaf = false;
  const silenced = (own: Kube): Kube =>
    Object.assign(Object.create(own) as Kube, {
      get: own.get.bind(own),
      list: own.list.bind(own),
      async *watch(...given: Parameters<Kube['watch']>) {
        const isLater = isDeaf;
        for await (const event of own.watch(...given)) if (!isDeaf || isLater) yield event;
        // The watch does not learn of its end either.
        const signal = given[2];
        if (isDeaf && !isLater)
          await new Promise((resolve) => signal?.addEventListener('abort', resolve));
      },
    });
  const seen = await observe('test/held', {}, silenced);
  const { cache, reflector } = seen;
  await reflector.synced;
  await create('heard');
  await until('the watch works', () => namesIn(cache).includes('heard'));
  isDeaf = true;
  await create('unheard');
  await until('the object is seen all the same', () => namesIn(cache).includes('unheard'), 35);
  expect(seen.relists).toBe(1);
});

test('a watch that nothing happens to goes on from a bookmark each time, so that its version does not grow old', async () => {
  const seen = await observe('test/quiet', { watchSeconds: [3, 3] });
  await seen.reflector.synced;
  const versions = (): (string | null)[] =>
    auditEvents(server.auditLog, 'test/quiet')
      .filter(({ verb }) => verb === 'watch')
      .map(({ requestURI }) =>
        new URL(requestURI, 'https://x').searchParams.get('resourceVersion'),
      );
  const elsewhere = { namespace: 'kube-system', generateName: 'other-' } as never;
  await until(
    'three watches from three versions',
    async () => {
      await kube.create(kinds.secret, { apiVersion: 'v1', kind: 'Secret', metadata: elsewhere });
      return new Set(versions()).size >= 3;
    },
    45,
  );
  expect(seen.relists).toBe(1);
});

test('what a watch keeps from us, a list finds, and it is counted', async () => {
  const deaf = (own: Kube): Kube =>
    Object.assign(Object.create(own) as Kube, {
      get: own.get.bind(own),
      list: own.list.bind(own),
      async *watch(...given: Parameters<Kube['watch']>) {
        for await (const event of own.watch(...given))
          if (event.type === 'BOOKMARK' || !JSON.stringify(event).includes('hidden')) yield event;
      },
    });
  const seen = await observe('test/deaf', { relist: 500, watchSeconds: [1, 1] }, deaf);
  await seen.reflector.synced;
  // A list that comes between the two finds the first, and can't know that the watch will not report it.
  for (let round = 1; seen.missed === 0 && round <= 10; round += 1) {
    await create(`hidden-${round}`);
    await create(`shown-${round}`);
    await until('the hidden object is found', () =>
      namesIn(seen.cache).includes(`hidden-${round}`),
    );
  }
  expect(seen.missed).toBeGreaterThan(0);
  expect(seen.relists).toBeGreaterThan(1);
});

test('after stop nothing reaches the cache', async () => {
  const { cache, reflector } = await observe('test/stopped');
  await reflector.synced;
  await reflector.stop();
  await create('too-late');
  await new Promise((resolve) => {
    setTimeout(resolve, 300);
  });
  expect(cache.size).toBe(0);
});
