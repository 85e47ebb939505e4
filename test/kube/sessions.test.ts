import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Unavailable } from '../../src/errors.ts';
import { connect } from '../../src/kube/client.ts';
import { kinds } from '../../src/kube/kinds.ts';
import type { Kube, KubeObject, WatchEvent } from '../../src/kube/kube.ts';
import { testNamespace } from '../kit/api-server.ts';
import { until } from '../kit/until.ts';
import { tcpProxy } from '../kit/tcp-proxy.ts';

let kube: Kube;
let namespace: string;
let kubeconfig: string;

beforeAll(async () => {
  ({ kube, namespace, kubeconfig } = await testNamespace('sessions'));
});
afterAll(() => kube.close());

type Watching = { events: WatchEvent<KubeObject>[]; ended: Promise<unknown>; stop(): void };

function watch(through: Kube): Watching {
  const giveUp = new AbortController();
  const events: WatchEvent<KubeObject>[] = [];
  const read = async (): Promise<void> => {
    const options = { namespace, resourceVersion: '0', timeoutSeconds: 60 };
    for await (const event of through.watch(kinds.secret, options, giveUp.signal))
      events.push(event);
  };
  const ended = read().catch((error: unknown) => error);
  return { events, ended, stop: () => giveUp.abort(new Error('given up')) };
}

const make = (name: string) =>
  kube.create(kinds.secret, { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace } });
const saw = ({ events }: Watching, name: string): boolean =>
  events.some((event) => event.type === 'ADDED' && event.object.metadata.name === name);

test('a hundred watches need two connections, and each sees its events', async () => {
  const proxy = await tcpProxy(kubeconfig);
  const client = await connect({
    fieldManager: 'test',
    userAgent: 'test/many',
    kubeconfig: proxy.kubeconfig,
  });
  const all = Array.from({ length: 100 }, () => watch(client));
  await make('seen-by-all');
  await until('all see it', () => all.every((one) => saw(one, 'seen-by-all')));
  expect(proxy.connections()).toBeLessThanOrEqual(2);
  for (const one of all) one.stop();
  await Promise.all(all.map(({ ended }) => ended));
  await client.close();
  proxy.stop();
});

test('a watch that was given up on a dead connection takes the others with it, so that all begin anew', async () => {
  const proxy = await tcpProxy(kubeconfig);
  const client = await connect({
    fieldManager: 'test',
    userAgent: 'test/dead',
    kubeconfig: proxy.kubeconfig,
  });
  const [given, other] = [watch(client), watch(client)];
  await make('before-silence');
  await until('both see it', () => saw(given, 'before-silence') && saw(other, 'before-silence'));
  proxy.silence();
  given.stop();
  const end = await Promise.race([other.ended, wait(9500, 'still open')]);
  expect(end).toBeInstanceOf(Unavailable);
  await client.close();
  proxy.stop();
});

test('watches that were given up on a living connection leave the others alone', async () => {
  const proxy = await tcpProxy(kubeconfig);
  const client = await connect({
    fieldManager: 'test',
    userAgent: 'test/alive',
    kubeconfig: proxy.kubeconfig,
  });
  const [other, ...given] = Array.from({ length: 40 }, () => watch(client)) as [
    Watching,
    ...Watching[],
  ];
  await make('before-giving-up');
  await until('all see it', () => [other, ...given].every((one) => saw(one, 'before-giving-up')));
  for (const one of given) one.stop();
  await wait(2500);
  await make('after-giving-up');
  await until('the other sees it', () => saw(other, 'after-giving-up'));
  expect(proxy.connections()).toBe(1);
  other.stop();
  await client.close();
  proxy.stop();
});

/** Answers every watch with one event, and speaks nothing newer than HTTP/1.1. */
async function oldServer(): Promise<{ kubeconfig: string; close(): void }> {
  const file = (name: string): Buffer => readFileSync(join(dirname(kubeconfig), name));
  const server = https.createServer(
    { cert: file('apiserver.crt'), key: file('apiserver.key') },
    ({ httpVersion }, response) => {
      const metadata = { name: `from-http-${httpVersion}`, namespace, resourceVersion: '1' };
      response.write(
        `${JSON.stringify({ type: 'ADDED', object: { apiVersion: 'v1', kind: 'Secret', metadata } })}\n`,
      );
    },
  );
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const path = `${kubeconfig}.old`;
  writeFileSync(
    path,
    readFileSync(kubeconfig, 'utf8').replace(/127\.0\.0\.1:\d+/, `127.0.0.1:${port}`),
  );
  return {
    kubeconfig: path,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

test('a server without HTTP/2 is watched over HTTP/1.1', async () => {
  const server = await oldServer();
  const client = await connect({
    fieldManager: 'test',
    userAgent: 'test/old',
    kubeconfig: server.kubeconfig,
  });
  const one = watch(client);
  await until('an event is seen', () => one.events.length > 0);
  expect(saw(one, 'from-http-1.1')).toBe(true);
  one.stop();
  await client.close();
  server.close();
});
