import { describe, expect, inject, test } from 'vitest';
import { deployCounting, executions, followQueue, makeRuns } from '../kit/counting-agent.ts';
import { kubectlFor } from '../kit/kubectl.ts';
import { until } from '../kit/until.ts';

/* Queue pods follow a burst of runs, and a deployment that sleeps wakes for a request: in real pods. */

const system = inject('system');
const cluster = { ...system, api: { url: system.controlPlane, key: system.key } };
const nameOf = (stem: string): string => `${stem}-${Date.now().toString(36).slice(-5)}`;

describe('a burst of slow runs', () => {
  test('has a second queue pod for as long as it needs one, and each step is executed once', async () => {
    const name = nameOf('burst');
    const agent = await deployCounting(cluster, name, {
      resources: { queue_min_scale: 1, queue_max_scale: 2 },
      secrets: { N_JOBS_PER_WORKER: '2' },
    });
    const queue = followQueue(system, name);
    await until('it has one queue pod', () => queue.sizes.at(-1) === 1);
    // Two of its queue pods take some half a minute for them.
    const rounds = await makeRuns(agent.client, 12, 5000);
    await until('there are two', () => queue.sizes.at(-1) === 2);
    const once = Object.fromEntries(rounds.map((round) => [round, ['first', 'second']]));
    await until(
      'all runs are over',
      async () => Object.values(await executions(agent.client)).flat().length >= 24,
      180,
    );
    await until('there is one again', () => queue.sizes.at(-1) === 1, 120);
    expect(await queue.stop()).toEqual([1, 2, 1]);
    expect(await executions(agent.client)).toEqual(once);
    await agent.remove();
  });
});

describe('a deployment that nobody needs', () => {
  test('sleeps, and answers the first request after it', async () => {
    const name = nameOf('nap');
    const agent = await deployCounting(cluster, name, { resources: { min_scale: 0 } });
    const kubectl = kubectlFor(system);
    await kubectl(
      'patch',
      'gxd',
      name,
      '-n',
      'gx-agents',
      '--type=merge',
      '-p',
      '{"spec":{"sleep":{"afterSeconds":5}}}',
    );
    const pods = async (): Promise<string> =>
      kubectl(
        'get',
        'pods',
        '-n',
        'gx-agents',
        '-l',
        `gx.dev/deployment=${name},gx.dev/component in (api,queue)`,
        '-o',
        'name',
      );
    await until('its pods are gone', async () => (await pods()).trim() === '', 240);
    const stranger = await fetch(`${agent.url}/threads`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    });
    expect([stranger.status, (await pods()).trim()]).toEqual([401, '']);
    const state = (await agent.client.runs.wait(null, 'counting', {
      input: { round: 'first', milliseconds: 1 },
    })) as { round?: string };
    expect(state.round).toBe('first');
    expect(await executions(agent.client)).toEqual({ first: ['first', 'second'] });
    await agent.remove();
  });
});
