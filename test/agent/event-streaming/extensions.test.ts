import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startPair, type AgentPair } from '../../kit/agent-pair.ts';
import { ALL, isRunEnd, WireThread, type ReadEvent } from './client.ts';

/* What a graph's stream transformers make of its events. */

let pair: AgentPair;

beforeAll(async () => {
  pair = await startPair({}, 'test/agent/event-streaming/graphs/gx.json');
});

afterAll(() => pair.stop());

async function run(assistant_id: string, channels: string[], left = 2): Promise<ReadEvent[]> {
  const thread = new WireThread(pair.api.url, randomUUID());
  await thread.command('run.start', { assistant_id, input: { left } });
  return thread.read({ channels: [...channels, 'lifecycle'] }, isRunEnd);
}

const dataOf = (events: ReadEvent[], wanted: string): unknown[] =>
  events.filter(({ method }) => method === wanted).map(({ params }) => params.data);
const steps = [2, 1].map((left) => ({ name: 'steps', payload: { left } }));
const total = { name: 'total', payload: 2 };

describe('a stream transformer', () => {
  test('has a channel of its own, which clients ask for by its name', async () => {
    expect(dataOf(await run('transformed', ['custom:steps']), 'custom')).toEqual(steps);
    expect(dataOf(await run('transformed', ['custom:total']), 'custom')).toEqual([total]);
    expect(dataOf(await run('transformed', ['custom:heard']), 'custom')).toEqual([]);
  });

  test('says its part before the event that it saw, and holds back events, not what is told of the run', async () => {
    const events = await run('transformed', ALL, 1);
    expect(dataOf(events, 'updates')).toEqual([]);
    const wrote = { name: 'wrote', payload: true };
    const [first] = steps.slice(1);
    expect(dataOf(events, 'custom')).toEqual([
      first,
      { payload: { left: 1 } },
      wrote,
      { ...total, payload: 1 },
    ]);
    expect(dataOf(events, 'lifecycle').map((data) => (data as { event: string }).event)).toEqual([
      'running',
      'completed',
    ]);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, at) => at + 1));
  });

  test('is read by the extensions of the official client', async () => {
    const stream = pair.api.client.threads.stream({ assistantId: 'transformed' });
    const { steps: told, total: whole } = stream.extensions as Record<
      string,
      AsyncIterable<unknown> & PromiseLike<unknown>
    >;
    const all = Array.fromAsync(told!);
    await stream.run.start({ input: { left: 2 } });
    expect(await all).toEqual([{ left: 2 }, { left: 1 }]);
    expect(await whole).toBe(2);
    await stream.close();
  });

  test('that breaks fails the run, and one that fails to end does not', async () => {
    expect((await run('breaking', [])).at(-1)!.params.data).toMatchObject({
      event: 'failed',
      error: 'The transformer is broken.',
    });
    const events = await run('unkept', ['custom']);
    expect(events.at(-1)!.params.data).toMatchObject({ event: 'completed' });
    expect(dataOf(events, 'custom')).toContainEqual(total);
    expect((await run('transformed', ['custom'], 0)).at(-1)!.params.data).toMatchObject({
      error: 'There is nothing to count.',
    });
  });

  test('has no part in the older streams', async () => {
    const { thread_id } = await pair.api.client.threads.create();
    const streamMode = ['custom' as const, 'updates' as const];
    const events = await Array.fromAsync(
      pair.api.client.runs.stream(thread_id, 'transformed', { input: { left: 1 }, streamMode }),
    );
    expect(events.map(({ event }) => event)).toEqual(['metadata', 'custom', 'updates']);
  });
});
