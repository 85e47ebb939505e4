import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { wrapReadsInTurn } from '../../../src/control-plane/reads-in-turn.ts';
import { connect } from '../../../src/kube/client.ts';
import { kinds } from '../../../src/kube/kinds.ts';
import { until } from '../../kit/until.ts';

/* Reads of several tenants on the sockets of one client, and an API server that is slow for one of them. */

const stops: (() => unknown)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

/** Starts a server that answers by the path, and a client of it. */
async function served(answer: (path: string, response: ServerResponse) => void) {
  const server = createServer((request, response) => answer(request.url ?? '', response)).listen(
    0,
    '127.0.0.1',
  );
  await once(server, 'listening');
  const kubeconfig = join(mkdtempSync(join(tmpdir(), 'reads-')), 'config');
  const cluster = {
    server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    'insecure-skip-tls-verify': true,
  };
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'one',
      clusters: [{ name: 'one', cluster }],
      users: [{ name: 'one', user: { token: 'a' } }],
      contexts: [{ name: 'one', context: { cluster: 'one', user: 'one' } }],
    }),
  );
  const kube = await connect({ fieldManager: 'test', userAgent: 'test', kubeconfig });
  stops.push(
    () => kube.close(),
    () => server.closeAllConnections(),
    () => server.close(),
  );
  return wrapReadsInTurn(kube, (namespace = '') => namespace.split('-')[0]);
}

test('fifty slow reads of one tenant hold up no read and no write of another', async () => {
  const held: ServerResponse[] = [];
  const kube = await served((path, response) => {
    if (path.includes('/evil-')) held.push(response);
    else
      response
        .setHeader('content-type', 'application/json')
        .end(JSON.stringify({ items: [], metadata: {} }));
  });
  const over = new AbortController();
  const slow = Array.from({ length: 50 }, (_, index) =>
    kube.list(kinds.backup, { namespace: `evil-${index % 5}` }, over.signal).catch(() => undefined),
  );
  await until('the first ones are under way', () => held.length === 3);
  expect(await kube.listAll(kinds.backup, { namespace: 'team-a' })).toEqual([]);
  await kube.patchStatus(kinds.deployment, { namespace: 'evil', name: 'chat' }, {});
  expect(held).toHaveLength(3);
  over.abort();
  await Promise.all(slow);
});

test('a list without an end is given up', async () => {
  const items = Array.from({ length: 500 }, (_, index) => ({ metadata: { name: `b${index}` } }));
  const kube = await served((_, response) =>
    response
      .setHeader('content-type', 'application/json')
      .end(JSON.stringify({ items, metadata: { continue: 'more' } })),
  );
  await expect(kube.listAll(kinds.backup, { namespace: 'team' })).rejects.toThrow(
    'Namespace team has more than 5000 objects of the kind Backup; delete some.',
  );
});
