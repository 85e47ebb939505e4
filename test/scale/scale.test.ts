import { describe, expect, inject, test } from 'vitest';
import {
  deployCounting,
  executions,
  followQueue,
  makeRuns,
  type CountingAgent,
} from '../kit/counting-agent.ts';
import { kubectlFor } from '../kit/kubectl.ts';
import { until } from '../kit/until.ts';

/* What takes too long for the system tests: many runs over four queue pods, and what wakes a deployment by the clock */

const system = inject('system');
const cluster = { ...system, api: { url: system.controlPlane, key: system.key } };
const kubectl = kubectlFor(system);
const nameOf = (stem: string): string => `${stem}-${Date.now().toString(36).slice(-5)}`;

describe('five hundred runs', () => {
  test('have four queue pods for as long as they need them, and each step is executed once', async () => {
    const name = nameOf('wave');
    const agent = await deployCounting(cluster, name, {
      resources: { queue_min_scale: 1, queue_max_scale: 4 },
      secrets: { N_JOBS_PER_WORKER: '5' },
    });
    const queue = followQueue(system, name);
    await until('it has one queue pod', () => queue.sizes.at(-1) === 1);
    const rounds = await makeRuns(agent.client, 500, 1000);
    await until(
      'all runs are over',
      async () => Object.values(await executions(agent.client)).flat().length >= 1000,
      400,
    );
    await until('there is one queue pod again', () => queue.sizes.at(-1) === 1, 180);
    expect(await queue.stop()).toEqual([1, 4, 1]);
    expect(await executions(agent.client)).toEqual(
      Object.fromEntries(rounds.map((round) => [round, ['first', 'second']])),
    );
    await agent.remove();
  });
});

describe('a deployment that sleeps', () => {
  const sleeper = async (
    stem: string,
  ): Promise<CountingAgent & { name: string; sleeps: () => Promise<unknown> }> => {
    const name = nameOf(stem);
    const agent = await deployCounting(cluster, name, { resources: { min_scale: 0 } });
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
    const isAsleep = async (): Promise<boolean> => {
      const { status } = await kubectl.json<{ status?: { asleepSince?: string } }>(
        'get',
        'gxd',
        name,
        '-n',
        'gx-agents',
      );
      return status?.asleepSince !== undefined;
    };
    return { ...agent, name, sleeps: () => until('it sleeps', isAsleep, 240) };
  };

  test('wakes in time for a delayed run', async () => {
    const agent = await sleeper('late');
    await agent.client.runs.create(null, 'counting', {
      input: { round: 'delayed', milliseconds: 1 },
      afterSeconds: 300,
    });
    await agent.sleeps();
    const told = async (): Promise<string | undefined> => {
      const { status } = await kubectl.json<{
        status?: { asleepSince?: string; nextDueAt?: string; queueReady?: number };
      }>('get', 'gxd', agent.name, '-n', 'gx-agents');
      return status?.asleepSince === undefined && status?.queueReady === 1 ? 'awake' : undefined;
    };
    await until('it is awake with a queue pod', told, 360);
    await until(
      'the run was executed',
      async () => (await executions(agent.client))['delayed']?.length === 2,
      180,
    );
    expect(await executions(agent.client)).toEqual({ delayed: ['first', 'second'] });
    await agent.remove();
  });

  test('wakes in time for a cron', async () => {
    const agent = await sleeper('cron');
    const at = new Date(Date.now() + 300_000);
    await agent.client.crons.create('counting', {
      schedule: `${at.getUTCMinutes()} * * * *`,
      input: { round: 'cron', milliseconds: 1 },
    });
    await agent.sleeps();
    await until(
      'the run was executed',
      async () => {
        const { status } = await kubectl.json<{ status?: { asleepSince?: string } }>(
          'get',
          'gxd',
          agent.name,
          '-n',
          'gx-agents',
        );
        return (
          status?.asleepSince === undefined &&
          (await executions(agent.client))['cron']?.length === 2
        );
      },
      420,
    );
    expect(await executions(agent.client)).toEqual({ cron: ['first', 'second'] });
    await agent.remove();
  });
});
