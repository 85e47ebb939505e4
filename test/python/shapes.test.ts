import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import type { AgentProcess } from '../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../kit/postgres.ts';
import { startPython } from './agent.ts';

/*
 * Values of some hundred shapes in states of each kind, in arguments of Send, in what a function saves and its tasks
 * return, in subgraphs and in graphs of factories. Each comes back as LangGraph's own saver gives it back: in the next
 * step, behind an answer and an edit, in the next run, from an earlier state, and in a process that has made none.
 */

type Log = Record<string, Record<string, unknown>>[];
type Found = Record<string, { twice: Log; back: Log }>;

const { graphs } = JSON.parse(readFileSync('test/python/shapes.gx.json', 'utf8')) as {
  graphs: Record<string, string>;
};
const GRAPHS = Object.keys(graphs);
/** They hold the values themselves, so that they can be edited from outside. */
const EDITED = ['typed', 'untyped', 'data', 'model', 'configured', 'made'];

let database: TestDatabase;
let agent: AgentProcess;
let own: Found;
const found: Found = {};

const start = (): Promise<AgentProcess> => startPython(database.uri, {}, 'shapes.gx.json');

/** Each step is its own worker. */
async function useAnotherWorker(): Promise<void> {
  await agent.kill('SIGKILL');
  agent = await start();
}

async function runReference(): Promise<Found> {
  const env = { PYTHONPATH: 'test/python' };
  const args = ['test/python/shapes/compared.py'];
  const { stdout } = await promisify(execFile)(`${inject('python')}/python`, args, {
    env,
    maxBuffer: 64 * 1024 * 1024,
  });
  return (JSON.parse(stdout) as { found: Found }).found;
}

const threads = new Map<string, string>();

/** Does the same with each graph. */
const runEach = async <T>(
  work: (graph: string, thread: string) => Promise<T>,
): Promise<Map<string, T>> =>
  new Map(
    await Promise.all(
      GRAPHS.map(async (graph) => [graph, await work(graph, threads.get(graph)!)] as const),
    ),
  );

async function waitFor(graph: string, thread: string, body: object): Promise<Log> {
  const values = await agent.client.runs.wait(thread, graph, body);
  return (values as { log?: Log }).log ?? [];
}

/** Answers all questions of a thread, from one of its states. */
async function answer(graph: string, thread: string, checkpointId?: string): Promise<Log> {
  const { tasks } = await agent.client.threads.getState(thread, checkpointId);
  const asked = tasks.flatMap(({ interrupts }) => interrupts);
  const resume = Object.fromEntries(asked.map(({ id }) => [id!, 'yes']));
  return waitFor(graph, thread, {
    command: { resume },
    ...(checkpointId !== undefined && { checkpointId }),
  });
}

beforeAll(async () => {
  database = await freshDatabase();
  [own, agent] = await Promise.all([runReference(), start()]);
  for (const graph of GRAPHS) threads.set(graph, (await agent.client.threads.create()).thread_id);
  const begin = (graph: string, thread: string): Promise<Log> =>
    waitFor(graph, thread, { input: { log: [] } });
  await runEach(begin);
  const asked = await runEach(
    async (_, thread) => (await agent.client.threads.getState(thread)).checkpoint.checkpoint_id!,
  );
  await useAnotherWorker();
  await runEach((graph, thread) => answer(graph, thread));
  const values = { turn: 7, model: { name: 'edited' } };
  for (const graph of EDITED)
    await agent.client.threads.updateState(threads.get(graph)!, { values });
  await useAnotherWorker();
  await runEach(begin);
  await useAnotherWorker();
  const twice = await runEach((graph, thread) => answer(graph, thread));
  await useAnotherWorker();
  const back = await runEach((graph, thread) => answer(graph, thread, asked.get(graph)));
  for (const graph of GRAPHS) found[graph] = { twice: twice.get(graph)!, back: back.get(graph)! };
}, 600_000);
afterAll(async () => {
  await agent.kill('SIGKILL');
  await database.drop();
});

/** Names what is not as it is with LangGraph's own saver, with both forms. */
const listDifferences = (ours: Log, theirs: Log): string[] =>
  theirs.flatMap((entry, index) =>
    Object.entries(entry).flatMap(([place, shapes]) =>
      Object.entries(shapes).flatMap(([shape, form]) => {
        const other = JSON.stringify(ours[index]?.[place]?.[shape]);
        return other === JSON.stringify(form)
          ? []
          : [`${index} ${place}: ${shape}: ${JSON.stringify(form)}, here ${other}`];
      }),
    ),
  );

test.each(GRAPHS)('%s finds the same values as with the saver of LangGraph', (graph) => {
  for (const when of ['twice', 'back'] as const) {
    expect(listDifferences(found[graph]![when], own[graph]![when])).toEqual([]);
    expect(found[graph]![when]).toHaveLength(own[graph]![when].length);
  }
});
