import { setTimeout as wait } from 'node:timers/promises';
import { Client } from '@langchain/langgraph-sdk';
import { describe, expect, inject, test } from 'vitest';
import { agentUrl, call, untilDeployed, type Api } from '../../dev/run/control-plane.ts';
import { prober } from '../kit/prober.ts';

type Answer = Awaited<ReturnType<typeof untilDeployed>>;

const system = inject('system');
const api: Api = { url: system.controlPlane, key: system.key };
const quiet = (): void => undefined;
const name = `switched-${Date.now().toString(36).slice(-5)}`;

describe('a deployment under load', () => {
  test('switches to a new revision without a failed request and without a lost run', async () => {
    const created = await call<Answer>(api, 'POST', '/v2/deployments', {
      name,
      source: 'external_container',
      source_config: { resource_spec: {} },
      source_revision_config: { image_uri: system.image },
      secrets: [],
    });
    const first = await untilDeployed(api, created, quiet);
    const url = agentUrl(first);
    const client = new Client({ apiUrl: url, apiKey: null, callerOptions: { maxRetries: 0 } });
    const asked = prober(async () => {
      const response = await fetch(`${url}/ok`, { headers: { connection: 'close' } });
      if (!response.ok) throw new Error(`/ok answered ${response.status}`);
    }, 50);
    const ran = prober(async (round) => {
      const state = await client.runs.wait(null, 'echo', { input: { messages: [{ role: 'human', content: `round ${round}` }] } });
      if (!JSON.stringify(state).includes(`round ${round}`)) throw new Error(`round ${round} answered ${JSON.stringify(state)}`);
    }, 20);
    const { thread_id } = await client.threads.create();
    const patched = await call<Answer>(api, 'PATCH', `/v2/deployments/${created.id}`, { secrets: [{ name: 'COLOUR', value: 'green' }] });
    expect(patched.latest_revision_id).not.toBe(created.latest_revision_id);
    const second = await untilDeployed(api, patched, quiet);
    expect(second).toMatchObject({ active_revision_id: patched.latest_revision_id });
    // The old pods leave after the switch: the load goes on while they do.
    await wait(15_000);
    const [requests, runs] = [await asked.stop(), await ran.stop()];
    expect(requests.failures).toEqual([]);
    expect(runs.failures).toEqual([]);
    expect(requests.rounds).toBeGreaterThan(100);
    expect(runs.rounds).toBeGreaterThan(20);
    expect(await client.threads.get(thread_id)).toMatchObject({ thread_id });
    await call(api, 'DELETE', `/v2/deployments/${created.id}?delete_tracing_project=true`);
  });
});
