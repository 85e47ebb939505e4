import { setTimeout as wait } from 'node:timers/promises';
import { Client } from '@langchain/langgraph-sdk';
import { expect, inject, test } from 'vitest';
import {
  fetchAgentKey,
  requireAgentUrl,
  call,
  waitForDeployment,
  type Api,
} from '../../dev/run/control-plane.ts';
import type { DeploymentResource } from '../../src/schema/platform/resources/custom-resources.ts';
import { until } from '../kit/until.ts';
import { kubectlFor } from '../kit/kubectl.ts';
import { prober } from '../kit/prober.ts';

type Answer = Awaited<ReturnType<typeof waitForDeployment>>;
type Place = { metadata: { namespace: string } };

const system = inject('system');
const api: Api = { url: system.controlPlane, key: system.key };
const kubectl = kubectlFor(system);
const name = `password-${Date.now().toString(36).slice(-5)}`;

type Guard = {
  name: string;
  ready: boolean;
  restartCount: number;
  lastState: { terminated?: { message?: string } };
};

/**
 * The guard behaves as each time that it has something to report: it ends, its words are in the pod's status, and the
 * node starts it again.
 */
async function restartGuard(namespace: string): Promise<void> {
  const guard = async (): Promise<Guard> => {
    const { status } = await kubectl.json<{ status: { containerStatuses: Guard[] } }>(
      'get',
      'pod',
      `${name}-db-0`,
      '-n',
      namespace,
    );
    return status.containerStatuses.find((container) => container.name === 'guard') as Guard;
  };
  const { restartCount } = await guard();
  // The signal also ends what was executed in the container.
  await kubectl(
    'exec',
    `${name}-db-0`,
    '-c',
    'guard',
    '-n',
    namespace,
    '--',
    'kill',
    '-TERM',
    '1',
  ).catch(() => undefined);
  const again = await until('the guard runs again', async () => {
    const now = await guard();
    return now.ready && now.restartCount === restartCount + 1 && now;
  });
  // The words hold the size that the volume has on this node.
  expect(again.lastState.terminated?.message).toMatch(
    /^(roomy|nearly-full|almost-full) \d+ \d+\n$/,
  );
}

test('a password is changed twice under load, and the guard of the volume started again, without a failed request or run, and the former one is refused', async () => {
  const created = await call<Answer>(api, 'POST', '/v2/deployments', {
    name,
    source: 'external_container',
    source_config: { resource_spec: {} },
    source_revision_config: { image_uri: system.image },
    secrets: [],
  });
  const url = requireAgentUrl(await waitForDeployment(api, created, () => undefined));
  await until('it answers', async () => (await fetch(`${url}/ok`)).ok);
  const all = await kubectl.json<{ items: (DeploymentResource & Place)[] }>('get', 'gxd', '-A');
  const found = all.items.find(({ metadata }) => metadata.name === name);
  const { namespace } = found?.metadata ?? { namespace: '' };
  const databaseReady = ({ conditions = [] }: NonNullable<DeploymentResource['status']>) =>
    conditions.find(({ type, status: holds }) => type === 'DatabaseReady' && holds === 'True');
  const client = new Client({
    apiUrl: url,
    apiKey: await fetchAgentKey(api, created),
    callerOptions: { maxRetries: 0 },
  });
  const ran = prober(async (round) => {
    const state = await client.runs.wait(null, 'echo', {
      input: { messages: [{ role: 'human', content: `round ${round}` }] },
    });
    if (!JSON.stringify(state).includes(`round ${round}`))
      throw new Error(`round ${round} answered ${JSON.stringify(state)}`);
  }, 20);
  const status = async () =>
    (await kubectl.json<DeploymentResource>('get', 'gxd', name, '-n', namespace)).status ?? {};
  await restartGuard(namespace);
  expect(databaseReady(found?.status ?? {})).toBeDefined();
  expect(databaseReady(await status())).toEqual(databaseReady(found?.status ?? {}));
  const uris: string[] = [];
  for (const day of ['05', '06']) {
    const secret = (await status()).databaseSecret ?? '';
    const { data } = await kubectl.json<{ data: { uri: string } }>(
      'get',
      'secret',
      secret,
      '-n',
      namespace,
    );
    uris.push(Buffer.from(data.uri, 'base64').toString().replace(/@.*$/, '@127.0.0.1:5432/gx'));
    const request = `2026-01-${day}T00:00:00Z`;
    await kubectl(
      'patch',
      'gxd',
      name,
      '-n',
      namespace,
      '--type=merge',
      '-p',
      `{"spec":{"database":{"passwordRequestedAt":"${request}"}}}`,
    );
    for (let seconds = 0; (await status()).passwordRequestedAt !== request; seconds += 2) {
      if (seconds > 240) throw new Error(JSON.stringify((await status()).conditions));
      await wait(2000);
    }
  }
  const runs = await ran.stop();
  expect(runs.failures).toEqual([]);
  expect(runs.rounds).toBeGreaterThan(20);
  for (const uri of uris) {
    const login = kubectl(
      'exec',
      `${name}-db-0`,
      '-n',
      namespace,
      '--',
      'psql',
      uri,
      '-c',
      'select 1',
    );
    await expect(login).rejects.toThrow(/authentication failed|not permitted/);
  }
  expect((await status()).latestRevision).toBe(`${name}-00001`);
  await call(api, 'DELETE', `/v2/deployments/${created.id}?delete_tracing_project=true`);
}, 600_000);
