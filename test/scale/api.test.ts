import type { Client } from '@langchain/langgraph-sdk';
import { describe, expect, inject, test } from 'vitest';
import type { Condition } from '../../src/schema/platform/objects/conditions.ts';
import { deployCounting } from '../kit/counting-agent.ts';
import { kubectlFor } from '../kit/kubectl.ts';
import { until } from '../kit/until.ts';

/* Api pods follow their load by Kubernetes' own autoscaler and the figures of a real metrics server */

const system = inject('system');
const cluster = { ...system, api: { url: system.controlPlane, key: system.key } };
const kubectl = kubectlFor(system);
const NAMESPACE = 'gx-agents';
const CALLERS = 20;

type Workload = { spec: { replicas: number }; status?: { readyReplicas?: number } };

/** Asks all the time until it is stopped; returns how many answers came, and which requests failed. */
function askAlways(client: Client): {
  stop: () => Promise<{ answers: number; failures: string[] }>;
} {
  const stopping = new AbortController();
  const told = { answers: 0, failures: [] as string[] };
  const caller = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await client.assistants.search({ limit: 10 }).then(
        () => (told.answers += 1),
        (error: unknown) => told.failures.push(String(error)),
      );
    }
  };
  const callers = Promise.all(Array.from({ length: CALLERS }, caller));
  return { stop: async () => (stopping.abort(), await callers, told) };
}

// On kind no metrics server runs.
describe.skipIf(system.cluster === 'kind')('api pods', () => {
  test('become three under load, stay three over a rollout, and are one again after it', async () => {
    const name = `load-${Date.now().toString(36).slice(-5)}`;
    // Little is asked for, so that a slow machine's load is much of it, too.
    const resources = {
      min_scale: 1,
      max_scale: 3,
      queue_min_scale: 1,
      queue_max_scale: 1,
      cpu: 0.05,
      cpu_limit: 0.5,
    };
    const agent = await deployCounting(cluster, name, { resources });
    const deployment = (): Promise<{
      status?: { activeRevision?: string; conditions?: Condition[] };
    }> => kubectl.json('get', 'gxd', name, '-n', NAMESPACE);
    const follows = async (): Promise<boolean> => {
      const { status } = await deployment();
      return status?.conditions?.find(({ type }) => type === 'ApiScaled')?.reason === 'FollowsLoad';
    };
    const api = (revision: string): Promise<Workload> =>
      kubectl.json('get', 'deployment', `${revision}-api`, '-n', NAMESPACE);
    const ready = async (revision: string, count: number): Promise<boolean> => {
      const { spec, status } = await api(revision);
      return spec.replicas === count && status?.readyReplicas === count;
    };
    await until('it says that the number follows the load', follows, 300);
    expect(await kubectl('top', 'pods', '-n', NAMESPACE)).toContain(`${name}-00001-api`);

    const load = askAlways(agent.client);
    await until('there are three', () => ready(`${name}-00001`, 3), 400);
    const change = { spec: { template: { resourceSpec: { annotations: { note: 'changed' } } } } };
    await kubectl(
      'patch',
      'gxd',
      name,
      '-n',
      NAMESPACE,
      '--type=merge',
      '-p',
      JSON.stringify(change),
    );
    await until(
      'the next revision serves',
      async () => (await deployment()).status?.activeRevision === `${name}-00002`,
      400,
    );
    expect(await api(`${name}-00002`)).toMatchObject({
      spec: { replicas: 3 },
      status: { readyReplicas: 3 },
    });
    const { answers, failures } = await load.stop();
    expect(failures).toEqual([]);
    expect(answers).toBeGreaterThan(0);

    await until('there is one again', () => ready(`${name}-00002`, 1), 400);
    expect(await follows()).toBe(true);
    await agent.remove();
  });
});
