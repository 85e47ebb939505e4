import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startPair, type AgentPair } from '../../kit/agent-pair.ts';
import type { AgentProcess } from '../../kit/agent-server.ts';
import { startValkey } from '../../kit/valkey.ts';
import { isRunEnd, WireThread, type ReadEvent } from './client.ts';

/* Answers that come as soon as a question is seen, before the run that asked has written its end. */

const GRAPHS = 'test/agent/event-streaming/graphs/gx.json';

let pair: AgentPair;

beforeAll(async () => {
  pair = await startPair({}, GRAPHS);
});

afterAll(() => pair.stop());

const QUESTIONS = { channels: ['input', 'lifecycle'] };
const isQuestion = ({ method }: ReadEvent): boolean => method === 'input.requested';
const input = (more: object = {}): object => ({
  assistant_id: 'asking',
  input: { pause: 0, ...more },
});

const on = (agent: AgentProcess, id: string): WireThread => new WireThread(agent.url, id);

async function saidOn(id: string, { client }: AgentProcess = pair.api): Promise<string[]> {
  return (await client.threads.getState<{ said: string[] }>(id)).values.said;
}

type Places = { reader: AgentProcess; writer: AgentProcess };

/** Starts a run that asks, and answers once the question is seen. Returns what the graph was told in the end. */
async function answered(text: string, { reader, writer }: Places): Promise<string[]> {
  const id = randomUUID();
  await on(writer, id).command('run.start', input());
  await on(reader, id).read(QUESTIONS, isQuestion);
  const { result } = await on(writer, id).command('run.start', {
    assistant_id: 'asking',
    input: text,
  });
  await writer.client.runs.join(id, (result as { run_id: string }).run_id);
  return saidOn(id, writer);
}

/** Gives this many answers, several at a time. Returns those that did not reach the graph. */
async function lostOf(count: number, places: Places[]): Promise<unknown[]> {
  const left = Array.from({ length: count }, (_, at) => at);
  const lost: unknown[] = [];
  const client = async (): Promise<void> => {
    for (let at = left.shift(); at !== undefined; at = left.shift()) {
      const said = await answered(`the ${at}th`, places[at % places.length]!);
      if (said.join() !== `which: the ${at}th`) lost.push([at, said]);
    }
  };
  await Promise.all(Array.from({ length: 8 }, client));
  return lost;
}

test('200 immediate answers reach the graph, in whatever process the question is read and the answer is sent', async () => {
  const { api, queue } = pair;
  const places = [
    { reader: queue, writer: api },
    { reader: queue, writer: queue },
    { reader: api, writer: queue },
    { reader: api, writer: api },
  ];
  expect(await lostOf(200, places)).toEqual([]);
});

test('so do answers where events go through a key-value store', async () => {
  const valkey = await startValkey();
  const { api, queue, stop } = await startPair({ GX_REDIS_URI: valkey.uri }, GRAPHS);
  const lost = await lostOf(60, [
    { reader: queue, writer: api },
    { reader: api, writer: queue },
  ]);
  await stop();
  await valkey.kill();
  expect(lost).toEqual([]);
});

describe('an answer that comes while the run that asked goes on', () => {
  test('is taken once that run has ended', async () => {
    const id = randomUUID();
    await on(pair.api, id).command('run.start', input({ pause: 1500 }));
    await on(pair.api, id).read(QUESTIONS, isQuestion);
    await on(pair.api, id).command('run.start', { assistant_id: 'asking', input: 'soon' });
    let ends = 0;
    const all = await on(pair.api, id).read(
      { channels: ['lifecycle'] },
      (event) => isRunEnd(event) && (ends += 1) === 2,
    );
    expect(all.at(-1)!.params.data).toMatchObject({ event: 'completed' });
    expect(await saidOn(id)).toEqual(['which: soon']);
  });

  test('answers what was asked when it was sent, and leaves open what was asked since', async () => {
    const id = randomUUID();
    await on(pair.api, id).command('run.start', input({ pause: 1500, later: 800 }));
    await on(pair.api, id).read(QUESTIONS, isQuestion);
    await on(pair.api, id).command('run.start', { assistant_id: 'asking', input: 'soon' });
    let ends = 0;
    await on(pair.api, id).read(
      { channels: ['lifecycle'] },
      (event) => isRunEnd(event) && (ends += 1) === 2,
    );
    const { tasks, values } = await pair.api.client.threads.getState<{ said: string[] }>(id);
    const open = tasks.filter(({ result }) => result === null);
    expect(open.flatMap(({ interrupts }) => interrupts.map(({ value }) => value))).toEqual([
      'And when?',
    ]);
    expect(values.said).toEqual(['which: soon']);
    await on(pair.api, id).command('run.start', { assistant_id: 'asking', input: 'today' });
    await on(pair.api, id).read(
      { channels: ['lifecycle'] },
      ({ params }) => params.data['event'] === 'completed',
    );
    expect((await saidOn(id)).toSorted()).toEqual(['when: today', 'which: soon']);
  });
});

test('of two tabs that answer at once one is the answer, and the input of the other starts anew', async () => {
  const id = randomUUID();
  await on(pair.api, id).command('run.start', input({ pause: 300 }));
  await on(pair.api, id).read(QUESTIONS, isQuestion);
  const tabs = [on(pair.api, id), on(pair.queue, id)].map((tab) =>
    tab.command('run.start', input({ pause: 1 })),
  );
  for (const { result } of await Promise.all(tabs))
    await pair.api.client.runs.join(id, (result as { run_id: string }).run_id);
  expect(await saidOn(id)).toEqual(['which: [object Object]']);
  expect((await pair.api.client.threads.get(id)).status).toBe('interrupted');
  await on(pair.api, id).command('run.start', { assistant_id: 'asking', input: 'again' });
  let ends = 0;
  await on(pair.api, id).read(
    { channels: ['lifecycle'] },
    (event) => isRunEnd(event) && (ends += 1) === 4,
  );
  expect(await saidOn(id)).toEqual(['which: [object Object]', 'which: again']);
});

test('the official client answers as soon as it is asked', async () => {
  for (const { client } of [pair.api, pair.queue]) {
    const stream = client.threads.stream({ assistantId: 'asking' });
    const questions = await stream.subscribe('input');
    await stream.run.start({ input: { pause: 200 } });
    for await (const event of questions) if (event.method === 'input.requested') break;
    const { run_id } = await stream.run.start({ input: 'by the client' });
    await client.runs.join(stream.threadId, run_id!);
    expect(await saidOn(stream.threadId)).toEqual(['which: by the client']);
    await stream.close();
  }
});
