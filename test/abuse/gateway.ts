import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { connect } from '../../src/kube/client.ts';
import { kinds } from '../../src/kube/kinds.ts';
import type { Kube } from '../../src/kube/kube.ts';
import { hashGatewayKey } from '../../src/schema/wire/agent-key.ts';
import type { DeploymentResource } from '../../src/schema/platform/resources/custom-resources.ts';
import {
  PORTS_CONFIG_MAP,
  PORTS_KEY,
  formatKeptPorts,
} from '../../src/schema/platform/objects/kept-ports.ts';
import {
  REPORTS_PATH,
  buildWorkPath,
  type ReportsPage,
} from '../../src/schema/wire/work-report.ts';
import { freePort } from '../kit/agent-server.ts';
import { startApiServer } from '../kit/api-server.ts';
import { imageEnvironment } from '../kit/image-environment.ts';
import { newDeployment } from '../kit/objects.ts';
import { attempt, forgeKeys } from './attacks.ts';
import { besideNeighbour } from './neighbour.ts';
import type { Verdicts } from './report.ts';
import { settled } from './settled.ts';
import { tell } from './tell.ts';
import { startWatched, type WatchedServer } from './watched-server.ts';

const MEBIBYTE = 1024 * 1024;
const KEYS = { attacker: 'gxa_the-key-of-the-attacker', neighbour: 'gxa_the-key-of-the-neighbour' };
const SLEEPERS = 5;
const HELD = { perDeployment: 1000, total: 3000 };
const HOLD_SECONDS = 15;

type Auth = { mode?: 'tenant'; issuer?: string; audiences?: string[]; jwks?: string };
type Stage = {
  server: WatchedServer;
  /** Where the reports of all are read. */
  reports: string;
  /** The doors of deployments that sleep, by `namespace/name`. */
  doors: Record<string, string>;
  /** Requests that came to the hostile issuer. */
  asked: () => number;
  close: () => void;
};

/** Answers with keys that are packed, endless or many, and refuses each key that it is asked about. */
async function hostileServer(): Promise<{ server: Server; url: string; asked: () => number }> {
  const bomb = gzipSync(Buffer.alloc(100 * MEBIBYTE, ' '));
  const many = JSON.stringify({
    keys: Array.from({ length: 100_000 }, () => ({ kty: 'RSA', n: 'AQAB', e: 'AQAB' })),
  });
  const piece = Buffer.alloc(65_536, ' ');
  let asked = 0;
  const server = createServer((request, response) => {
    asked += 1;
    request.resume();
    if (request.method === 'POST') return void response.writeHead(401).end();
    if (request.url === '/packed')
      return void response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb);
    if (request.url === '/many') return void response.end(many);
    const more = (): void => {
      while (!response.destroyed && response.write(piece));
      if (!response.destroyed) response.once('drain', more);
    };
    more();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    server,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked: () => asked,
  };
}

async function deploySleeper(
  kube: Kube,
  key: string,
  auth: Auth = {},
): Promise<DeploymentResource> {
  const [namespace = '', name = ''] = key.split('/');
  const template = {
    sourceRevisionConfig: { imageUri: 'agent:1', auth },
    resourceSpec: { minScale: 0 },
  };
  const made = await kube.create(
    kinds.deployment,
    newDeployment(namespace, { metadata: { name }, template }),
  );
  const keyHashes = [hashGatewayKey(KEYS[namespace as keyof typeof KEYS])];
  await kube.patchStatus(
    kinds.deployment,
    { namespace, name },
    { keyHashes, asleepSince: '2026-01-05T00:00:00Z' },
  );
  return made;
}

async function stageOn(kube: Kube, kubeconfig: string): Promise<Stage> {
  const issuer = await hostileServer();
  for (const name of Object.keys(KEYS))
    await kube.create(kinds.namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  const bombs = ['packed', 'many', 'endless'];
  const wanted: [key: string, auth: Auth][] = [
    ...Array.from({ length: SLEEPERS }, (_, index): [string, Auth] => [
      `attacker/sleeper-${index}`,
      {},
    ]),
    ...bombs.map((kind): [string, Auth] => [
      `attacker/${kind}`,
      {
        issuer: 'https://id.example.com',
        audiences: ['gx'],
        jwks: `${issuer.url.replace('127.0.0.1', 'localhost')}/${kind}`,
      },
    ]),
    ['attacker/tenant', { mode: 'tenant' }],
    ['neighbour/chat', {}],
  ];
  const ports = new Map<string, { gateway: number }>();
  const doors: Record<string, string> = {};
  for (const [key, auth] of wanted) {
    const { metadata } = await deploySleeper(kube, key, auth);
    const gateway = await freePort();
    ports.set(metadata.uid ?? '', { gateway });
    doors[key] = `http://127.0.0.1:${gateway}/threads`;
  }
  const metadata = { name: PORTS_CONFIG_MAP, namespace: 'default' };
  await kube.create(kinds.configMap, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata,
    data: { [PORTS_KEY]: formatKeptPorts(ports) },
  });
  const reportsPort = await freePort();
  const server = await startWatched(['gateway'], {
    ...imageEnvironment('gx-platform'),
    KUBECONFIG: kubeconfig,
    GX_NAMESPACE: 'default',
    GX_HEALTH_PORT: '0',
    GX_REPORTS_PORT: String(reportsPort),
    // No pod answers at the names of this domain, and they are refused at once.
    GX_CLUSTER_DOMAIN: 'localhost',
    GX_CONTROL_PLANE_URL: issuer.url,
    GX_ISSUER_HOSTS: 'localhost',
    GX_HOLD_SECONDS: String(HOLD_SECONDS),
    GX_HELD_PER_DEPLOYMENT: String(HELD.perDeployment),
    GX_HELD_REQUESTS: String(HELD.total),
  });
  const close = (): void => {
    issuer.server.closeAllConnections();
    issuer.server.close();
  };
  return {
    server,
    reports: `http://127.0.0.1:${reportsPort}${REPORTS_PATH}`,
    doors,
    asked: issuer.asked,
    close,
  };
}

const told = (statuses: Map<number, number>): string =>
  [...statuses].map(([status, count]) => `${count} x ${status}`).join(', ');

/** Does something as often as it goes, so many at a time, for ten seconds. Returns the statuses and their numbers. */
async function flood(
  atOnce: number,
  one: (index: number) => Promise<{ status: number }>,
): Promise<Map<number, number>> {
  const statuses = new Map<number, number>();
  const until = performance.now() + 10_000;
  let index = 0;
  const worker = async (): Promise<void> => {
    while (performance.now() < until) {
      const { status } = await one((index += 1));
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return statuses;
}

/** Floods with reports of made-up processes, and reads as the operator does what is kept. */
async function floodReports({ server, reports }: Stage, verdicts: Verdicts): Promise<void> {
  const report = (namespace: keyof typeof KEYS, body: object): Promise<{ status: number }> =>
    attempt(
      server.url + buildWorkPath(namespace, namespace === 'attacker' ? 'sleeper-0' : 'chat'),
      {
        method: 'POST',
        headers: { 'x-api-key': KEYS[namespace], 'content-type': 'application/json' },
        body: JSON.stringify({ slots: 0, idle_seconds: 0, ...body }),
      },
    );
  const filler = 'x'.repeat(1800);
  const statuses = await flood(40, (index) => report('attacker', { from: `p${index}`, filler }));
  verdicts.check(
    'gateway: reports',
    told(statuses),
    [...statuses.keys()].every((status) => [0, 200, 429].includes(status)),
  );
  const { status } = await report('neighbour', { from: 'api' });
  let [largest, found, cursor, instance, more] = [0, false, 0, '', true];
  while (more) {
    const text = await (
      await fetch(
        `${reports}?${new URLSearchParams({ instance, cursor: String(cursor) }).toString()}`,
      )
    ).text();
    const page = JSON.parse(text) as ReportsPage;
    largest = Math.max(largest, text.length);
    found ||= page.reports['neighbour/chat'] !== undefined;
    ({ cursor, instance, more } = page);
  }
  const figure = `the largest page has ${(largest / MEBIBYTE).toFixed(2)} MiB; the other tenant's report is ${found ? 'there' : 'missing'}`;
  verdicts.check(
    'gateway: what the operator reads',
    figure,
    largest < MEBIBYTE && found && status === 200,
  );
}

/** Shows tokens that nobody signed, so that the keys of hostile issuers are read. */
async function readBombs({ doors, asked }: Stage, verdicts: Verdicts): Promise<void> {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const token = `${part({ alg: 'RS256', typ: 'JWT' })}.${part({ iss: 'https://id.example.com', aud: 'gx', exp: 9e9 })}.AAAA`;
  const headers = { authorization: `Bearer ${token}` };
  const urls = ['packed', 'many', 'endless'].map((kind) => doors[`attacker/${kind}`]!);
  const statuses = await flood(30, (index) =>
    attempt(urls[index % urls.length]!, { method: 'GET', headers, body: '' }),
  );
  const held = [...statuses.keys()].every((status) => [0, 401, 503].includes(status));
  verdicts.check(
    'gateway: tokens of hostile issuers',
    `${told(statuses)}; keys were read ${asked()} times`,
    held && asked() > 0,
  );
}

/** Takes all places of held requests that one tenant gets, and then asks as another one. */
async function holdMany({ doors }: Stage, verdicts: Verdicts): Promise<void> {
  const waiting = Array.from({ length: HELD.total }, (_, index) =>
    attempt(doors[`attacker/sleeper-${index % SLEEPERS}`]!, {
      method: 'GET',
      headers: { 'x-api-key': KEYS.attacker },
      body: '',
    }),
  );
  await wait(5000);
  const started = performance.now();
  const other = await attempt(doors['neighbour/chat']!, {
    method: 'GET',
    headers: { 'x-api-key': KEYS.neighbour },
    body: '',
  });
  const seconds = (performance.now() - started) / 1000;
  // No pod answers, so who is held gets a 503 when the time is over, and who finds no place gets it at once.
  verdicts.check(
    'gateway: the other tenant is held',
    `for ${seconds.toFixed(0)} s, then ${other.status}`,
    seconds > HOLD_SECONDS / 2,
  );
  await Promise.all(waiting);
}

async function attack(stage: Stage, verdicts: Verdicts): Promise<void> {
  const name = 'gateway';
  const { server, doors } = stage;
  const neighbour = {
    url: server.url + buildWorkPath('neighbour', 'chat'),
    headers: { 'x-api-key': KEYS.neighbour },
  };
  const beside = (what: string, work: () => Promise<void>): Promise<void> => {
    tell(`${name}: ${what}`);
    return besideNeighbour(verdicts, { name: `${name}, ${what}`, ...neighbour }, work);
  };
  // The first requests load and compile what stays for the life of the process.
  for (let count = 0; count < 200; count += 1)
    await attempt(neighbour.url, { method: 'GET', headers: neighbour.headers, body: '' });
  const before = server.memory();
  // What the machine itself does to the other tenant's figure.
  await beside('no attack', () => Promise.resolve());
  await beside('a flood of reports', () => floodReports(stage, verdicts));
  await beside('keys of hostile issuers', () => readBombs(stage, verdicts));
  await beside(`${HELD.total} requests for deployments that sleep`, () =>
    holdMany(stage, verdicts),
  );
  await beside('500 forged keys a second', async () => {
    const keyOf = (key: string): string => `gx_${key.padStart(65, 'f')}`;
    const statuses = await forgeKeys(doors['attacker/tenant']!, {
      perSecond: 500,
      seconds: 10,
      keyOf,
    });
    verdicts.check(
      `${name}: forged keys`,
      told(statuses),
      [...statuses.keys()].every((status) => [0, 401, 429].includes(status)),
    );
  });
  await settled(verdicts, { name, server, before });
}

/** Attacks a gateway on a real API server, with the keys of one deployment and without any, beside another tenant. */
export async function attackGateway(verdicts: Verdicts): Promise<void> {
  const api = await startApiServer({ controllers: false });
  try {
    const kube = await connect({
      fieldManager: 'abuse',
      userAgent: 'abuse',
      kubeconfig: api.kubeconfig,
    });
    const stage = await stageOn(kube, api.kubeconfig);
    await attack(stage, verdicts);
    await stage.server.stop();
    stage.close();
    await kube.close();
  } finally {
    await api.stop();
  }
}
