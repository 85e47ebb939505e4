import { randomUUID } from 'node:crypto';
import { createKey } from '../../src/control-plane/auth/keys.ts';
import { connect } from '../../src/kube/client.ts';
import { kinds } from '../../src/kube/kinds.ts';
import type { Kube } from '../../src/kube/kube.ts';
import { API_VERSION } from '../../src/schema/platform/objects/api-group.ts';
import { attackMetrics } from './metrics.ts';
import { tell } from './tell.ts';
import { startApiServer } from '../kit/api-server.ts';
import { imageEnvironment } from '../kit/image-environment.ts';
import { attempt, forgeKeys, openStreams, sendHalf, sendSlowly, withhold } from './attacks.ts';
import { attackBodies } from './bodies.ts';
import { chattyProxy, deployChatty, followLog, readPages } from './chatty-pods.ts';
import { besideNeighbour } from './neighbour.ts';
import type { Verdicts } from './report.ts';
import { settled } from './settled.ts';
import { startWatched, type WatchedServer } from './watched-server.ts';

const MEBIBYTE = 1024 * 1024;
/** Mebibytes that events held back may take: what the door lets in, and what sockets and the collector add to it. */
const HELD_BACK = 200;
/** Mebibytes that reading logs may take, of the 640 that the chart gives. */
const READ = 250;
const ATTACKER = '11111111-1111-4111-8111-111111111111';
const NEIGHBOUR = '22222222-2222-4222-8222-222222222222';

type Stage = {
  server: WatchedServer;
  attacker: string;
  neighbour: { url: string; headers: Record<string, string> };
  /** The attacker's deployment, and its git connection, whose id others may have learned. */
  mine: string;
  connection: string;
};
type Beside = (what: string, work: () => Promise<void>) => Promise<void>;

async function stageOn(kube: Kube, kubeconfig: string): Promise<Stage> {
  const keys = [];
  for (const [name, tenantId] of [
    ['attacker', ATTACKER],
    ['neighbour', NEIGHBOUR],
  ] as const) {
    await kube.create(kinds.namespace, {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name, labels: { 'gx.dev/tenant': tenantId } },
    });
    const spec = { computeId: name, namespaces: [name], tenantId };
    await kube.create(kinds.listener, {
      apiVersion: API_VERSION,
      kind: 'Listener',
      metadata: { name, namespace: 'default' },
      spec,
    });
    keys.push(
      (
        await createKey(kube, 'default', {
          name,
          tenantId,
          role: name === 'attacker' ? 'admin' : 'write',
        })
      ).key,
    );
  }
  const [attacker = '', key = ''] = keys;
  const server = await startWatched(
    ['control-plane'],
    {
      ...imageEnvironment('gx-platform'),
      KUBECONFIG: kubeconfig,
      GX_NAMESPACE: 'default',
      GX_HEALTH_PORT: '0',
      GX_GIT_NAMESPACE: 'default',
    },
    { ready: '/readyz' },
  );
  const make = async (path: string, own: string, body: object): Promise<string> => {
    const headers = { 'x-api-key': own, 'content-type': 'application/json' };
    const answer = await fetch(`${server.url}${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`POST ${path}: ${answer.status} ${await answer.text()}`);
    return ((await answer.json()) as { id: string }).id;
  };
  const mine = await make('/v2/deployments', attacker, newAgent('mine'));
  const theirs = await make('/v2/deployments', key, newAgent('theirs'));
  const connection = await make('/v1/integrations/git', attacker, {
    name: 'known',
    kind: 'github',
    webhook_secret: 'a secret of the webhook',
  });
  await deployChatty(kube, 'attacker', 'mine');
  const neighbour = {
    url: `${server.url}/v2/deployments/${theirs}`,
    headers: { 'x-api-key': key },
  };
  return { server, attacker, mine, connection, neighbour };
}

const newAgent = (name: string): object => ({
  name,
  source: 'external_container',
  source_config: { resource_spec: {} },
  source_revision_config: { image_uri: 'registry.example/agent:1' },
  secrets: [],
});

/** Holds large push events back, as a stranger with a drawn id and as one who has learned an id. */
async function attackPushes(
  { server, connection }: Stage,
  verdicts: Verdicts,
  beside: Beside,
): Promise<void> {
  for (const [whose, id] of [
    ['no id', randomUUID()],
    ['a known id', connection],
  ] as const) {
    await beside(`140 push events held back by a stranger with ${whose}`, async () => {
      await server.reset();
      const event = {
        url: server.url,
        path: `/v1/integrations/git/${id}/push`,
        headers: {},
        bytes: 5 * MEBIBYTE,
      };
      await withhold(event, { connections: 140, seconds: 12 });
      const { memory } = await server.cost();
      const held = `${(memory / MEBIBYTE).toFixed(0)} MiB of ${HELD_BACK}`;
      verdicts.check(
        `control plane: events held back with ${whose}`,
        held,
        memory <= HELD_BACK * MEBIBYTE,
      );
    });
  }
}

/** Reads and follows the log of twenty pods that write all they can. */
async function attackLogs(
  { server, attacker, mine }: Stage,
  verdicts: Verdicts,
  beside: Beside,
): Promise<void> {
  const [headers, logs] = [{ 'x-api-key': attacker }, `${server.url}/v2/deployments/${mine}/logs`];
  await beside('20 readers of the pages of chatty logs', async () => {
    await server.reset();
    const statuses = await readPages(`${logs}?limit=1000`, headers, 10);
    const told = [...statuses].map(([status, count]) => `${count} x ${status}`).join(', ');
    const { memory } = await server.cost();
    const taken = `${(memory / MEBIBYTE).toFixed(0)} MiB of ${READ}`;
    verdicts.check(
      `control plane: pages of chatty logs`,
      `${told}; ${taken}`,
      statuses.has(200) && !statuses.has(0) && memory <= READ * MEBIBYTE,
    );
  });
  await beside('20 streams of chatty logs', async () => {
    await server.reset();
    const statuses = await followLog(`${logs}/stream`, headers, 10);
    const { memory } = await server.cost();
    const taken = `${(memory / MEBIBYTE).toFixed(0)} MiB of ${READ}`;
    const isServed = statuses.every((status) => status === 200);
    verdicts.check(
      `control plane: streams of chatty logs`,
      `${statuses.length} readers; ${taken}`,
      isServed && memory <= READ * MEBIBYTE,
    );
  });
}

async function attack(stage: Stage, verdicts: Verdicts): Promise<void> {
  const { server, attacker, mine, neighbour } = stage;
  const name = 'control plane';
  const headers = { 'x-api-key': attacker };
  const known = { deployment_id: mine, project_id: mine };
  const needed = (field: string): unknown => (field === 'name' ? 'other' : {});
  const beside: Beside = (what, work) => {
    tell(`${name}: ${what}`);
    return besideNeighbour(verdicts, { name: `${name}, ${what}`, ...neighbour }, work);
  };
  const skips = (path: string): boolean => path.startsWith('/api-host');
  const attacked = {
    server,
    headers,
    known,
    needed,
    limitOf: () => MEBIBYTE,
    skips,
    stays: () => false,
  };
  // The first requests load and compile what stays for the life of the process.
  for (let count = 0; count < 200; count += 1)
    await attempt(neighbour.url, { method: 'GET', headers: neighbour.headers, body: '' });
  const before = server.memory();
  // What the machine itself does to the other tenant's figure.
  await beside('no attack', () => Promise.resolve());
  await beside('the worst bodies', () => attackBodies(attacked, verdicts));
  verdicts.sumUp(`${name}, the worst bodies`);
  const slow = { url: server.url, path: '/v2/deployments', headers, bytes: MEBIBYTE };
  await beside('200 slow senders', () => sendSlowly(slow, { connections: 200, seconds: 10 }));
  await beside('200 aborted bodies', () => sendHalf(slow, { times: 200 }));
  await beside('50 log and 200 event streams', async () => {
    const of = (what: string): string => `${server.url}/v2/deployments/${mine}/${what}`;
    const logs = await openStreams(
      Array.from({ length: 50 }, () => of('logs/stream')),
      headers,
    );
    const events = await openStreams(
      Array.from({ length: 200 }, () => of('events')),
      headers,
    );
    const refused = [...logs.statuses, ...events.statuses].filter(
      (status) => status === 429,
    ).length;
    verdicts.check(`${name}: streams beyond a key's`, `${refused} of 250 refused`, refused === 150);
    await new Promise((resolve) => setTimeout(resolve, 10_000));
    logs.close();
    events.close();
  });
  await beside('1,000 forged keys a second', async () => {
    const statuses = await forgeKeys(`${server.url}/v2/deployments`, {
      perSecond: 1000,
      seconds: 10,
    });
    const told = [...statuses].map(([status, count]) => `${count} x ${status}`).join(', ');
    // A connection of the attacker may also be cut.
    const expected = [...statuses.keys()].every((status) => [0, 401, 429].includes(status));
    verdicts.check(`${name}: forged keys`, told, expected);
  });
  await attackPushes(stage, verdicts, beside);
  await attackLogs(stage, verdicts, beside);
  await settled(verdicts, { name, server, before });
}

/** Attacks a control plane on a real API server, beside another tenant. */
export async function attackControlPlane(verdicts: Verdicts): Promise<void> {
  const api = await startApiServer({ controllers: false });
  const proxy = await chattyProxy(api.kubeconfig);
  try {
    const kube = await connect({
      fieldManager: 'abuse',
      userAgent: 'abuse',
      kubeconfig: api.kubeconfig,
    });
    const stage = await stageOn(kube, proxy.kubeconfig);
    await attackMetrics(stage.server, verdicts);
    await attack(stage, verdicts);
    await stage.server.stop();
    await kube.close();
  } finally {
    proxy.stop();
    await api.stop();
  }
}
