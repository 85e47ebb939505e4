import { afterAll, beforeAll, expect, test } from 'vitest';
import { startPair, type AgentPair } from '../../kit/agent-pair.ts';
import type { AgentProcess } from '../../kit/agent-server.ts';
import { until } from '../../kit/until.ts';
import { openRecord } from './stopping/record.ts';

/* However a client stops a run, the tool that it waits for hears of it by its own signal. */

const record = openRecord();
const input = { journal: record.journal };
let pair: AgentPair;

beforeAll(async () => {
  pair = await startPair({}, 'test/agent/wire/stopping/gx.json');
});

afterAll(async () => {
  await pair.stop();
  record.remove();
});

/** A run that the official client streams, and what makes that client go away. */
type Begun = {
  client: AgentProcess['client'];
  thread_id: string;
  run_id: string;
  leave: () => void;
};

async function begin(
  { client }: AgentProcess,
  onDisconnect: 'cancel' | 'continue',
): Promise<Begun> {
  const { thread_id } = await client.threads.create();
  const leaving = new AbortController();
  const created = Promise.withResolvers<string>();
  const onRunCreated = ({ run_id }: { run_id: string }): void => created.resolve(run_id);
  const read = Array.fromAsync(
    client.runs.stream(thread_id, 'calling', {
      input,
      onDisconnect,
      signal: leaving.signal,
      onRunCreated,
    }),
  );
  // A reader that leaves gets an error of its own making.
  read.catch(created.reject);
  return { client, thread_id, run_id: await created.promise, leave: () => leaving.abort() };
}

const WAYS: [way: string, stop: (run: Begun) => unknown][] = [
  ['runs.cancel', ({ client, thread_id, run_id }) => client.runs.cancel(thread_id, run_id)],
  [
    'runs.cancelMany',
    ({ client, thread_id, run_id }) =>
      client.runs.cancelMany({ threadId: thread_id, runIds: [run_id] }),
  ],
  ['leaving a stream with onDisconnect cancel', ({ leave }) => leave()],
  [
    'a next run with the strategy interrupt',
    ({ client, thread_id }) =>
      client.runs.create(thread_id, 'calling', {
        input,
        multitaskStrategy: 'interrupt',
        interruptBefore: ['model'],
      }),
  ],
];
const PLACES = ['api', 'queue'] as const;

test.each(WAYS.flatMap(([way, stop]) => PLACES.map((place) => [way, place, stop] as const)))(
  '%s, asked of the %s process, reaches a waiting tool within a second',
  async (way, place, stop) => {
    const run = await begin(pair[place], way.includes('onDisconnect') ? 'cancel' : 'continue');
    const says = (word: string) => record.of(run.run_id).find((line) => line.says === word);
    await until('the tool waits', () => says('waits') !== undefined);
    const asked = Date.now();
    await stop(run);
    const { at } = await until('the tool has heard of it', () => says('stops'));
    expect(at - asked).toBeLessThan(1000);
    await expect
      .poll(async () => (await run.client.runs.get(run.thread_id, run.run_id)).status)
      .toBe('interrupted');
  },
);
