import { setTimeout as wait } from 'node:timers/promises';
import { Client } from '@langchain/langgraph-sdk';
import { beforeAll, describe, expect, inject, test } from 'vitest';
import {
  fetchAgentKey,
  requireAgentUrl,
  call,
  waitForDeployment,
  type Api,
} from '../../dev/run/control-plane.ts';
import { until } from '../kit/until.ts';
import { executions, putGraph } from '../kit/counting-agent.ts';
import { prober } from '../kit/prober.ts';

type Answer = Awaited<ReturnType<typeof waitForDeployment>>;

const system = inject('system');
const api: Api = { url: system.controlPlane, key: system.key };
const quiet = (): void => undefined;
const name = `switched-${Date.now().toString(36).slice(-5)}`;

beforeAll(() => putGraph(system, name));

describe('a deployment under load', () => {
  test('switches to a new revision: no request fails, no run is lost, no step of one is executed twice', async () => {
    const created = await call<Answer>(api, 'POST', '/v2/deployments', {
      name,
      source: 'external_container',
      source_config: {
        resource_spec: {
          volumes: [{ name: 'graph', configMap: { name } }],
          volume_mounts: [{ name: 'graph', mountPath: '/agent' }],
        },
      },
      source_revision_config: { image_uri: system.image },
      secrets: [],
    });
    const first = await waitForDeployment(api, created, quiet);
    const url = requireAgentUrl(first);
    await until('it answers', async () => (await fetch(`${url}/ok`)).ok);
    const client = new Client({
      apiUrl: url,
      apiKey: await fetchAgentKey(api, created),
      callerOptions: { maxRetries: 0 },
    });
    // The check leaves out the database, which may take longer than /ok waits for it. The runs need the database
    // anyway.
    const asked = prober(async () => {
      const response = await fetch(`${url}/ok?check_db=0`, { headers: { connection: 'close' } });
      if (!response.ok) throw new Error(`/ok answered ${response.status}`);
    }, 50);
    const runs = (kind: string, milliseconds: number) =>
      prober(async (number) => {
        const round = `${kind}-${number}`;
        const state = (await client.runs.wait(null, 'counting', {
          input: { round, milliseconds },
        })) as { round?: string };
        if (state.round !== round) throw new Error(`${round} answered ${JSON.stringify(state)}`);
      }, 20);
    // The slow ones take 6 s, so that one of them is always under way, even during the switch.
    const [quick, slow] = [runs('quick', 10), runs('slow', 3000)];
    const { thread_id } = await client.threads.create();
    const patched = await call<Answer>(api, 'PATCH', `/v2/deployments/${created.id}`, {
      secrets: [{ name: 'COLOUR', value: 'green' }],
    });
    expect(patched.latest_revision_id).not.toBe(created.latest_revision_id);
    const second = await waitForDeployment(api, patched, quiet);
    expect(second).toMatchObject({ active_revision_id: patched.latest_revision_id });
    // The old pods leave after the switch, and the load goes on meanwhile.
    await wait(15_000);
    const [requests, ...ran] = await Promise.all([asked.stop(), quick.stop(), slow.stop()]);
    expect([requests, ...ran].flatMap(({ failures }) => failures)).toEqual([]);
    expect(requests.rounds).toBeGreaterThan(100);
    const [quickly, slowly] = ran.map(({ rounds }) => rounds) as [number, number];
    expect(quickly).toBeGreaterThan(20);
    const rounds = (kind: string, count: number): string[] =>
      Array.from({ length: count }, (_, index) => `${kind}-${index + 1}`);
    const once = [...rounds('quick', quickly), ...rounds('slow', slowly)].map((round) => [
      round,
      ['first', 'second'],
    ]);
    expect(await executions(client)).toEqual(Object.fromEntries(once));
    expect(await client.threads.get(thread_id)).toMatchObject({ thread_id });
    await call(api, 'DELETE', `/v2/deployments/${created.id}?delete_tracing_project=true`);
  });
});
