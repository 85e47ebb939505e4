import * as langgraph from '@langchain/langgraph';
import {
  MemorySaver,
  type Checkpoint,
  type CheckpointMetadata,
  type CheckpointTuple,
} from '@langchain/langgraph-checkpoint';
import { toJson } from '../../../src/agent/graph-thread/serialise.ts';
import { createThread, input, wait, waitForText } from './api.ts';
import type { Checkout } from './checkout.ts';
import type { Databases } from './databases.ts';
import { echo } from './graphs/define.ts';
import { call } from './http.ts';
import { median } from './load.ts';
import type { Line } from './report.ts';
import type { BenchServer } from './servers.ts';

type Config = Parameters<MemorySaver['put']>[0];

/** A checkpointer that stores nothing. It holds the last state as the graph left it. */
class NothingStored extends MemorySaver {
  #last: CheckpointTuple | undefined;

  override getTuple(): Promise<CheckpointTuple | undefined> {
    return Promise.resolve(this.#last);
  }

  override put(_: Config, checkpoint: Checkpoint, metadata: CheckpointMetadata): Promise<Config> {
    const config = {
      configurable: { thread_id: 'thread', checkpoint_ns: '', checkpoint_id: checkpoint.id },
    };
    this.#last = { config, checkpoint, metadata };
    return Promise.resolve(config);
  }

  override putWrites(): Promise<void> {
    return Promise.resolve();
  }
}

type Invokable = {
  invoke(input: unknown, config: object): Promise<unknown>;
  checkpointer?: unknown;
};

/** Returns the milliseconds of each run: the graph in this process with nothing stored, and the JSON of its state. */
async function floor(runs: number): Promise<number[]> {
  const graph = echo(langgraph) as Invokable;
  const times: number[] = [];
  for (const [size, measured] of [
    [WARM, false],
    [runs, true],
  ] as const) {
    graph.checkpointer = new NothingStored();
    for (let run = 0; run < size; run += 1) {
      const started = performance.now();
      toJson(await graph.invoke(input, { configurable: { thread_id: 'thread' } }));
      if (measured) times.push(performance.now() - started);
    }
  }
  return times;
}

const WARM = 100;
/** A run's time is the median of so many runs around it. */
export const AROUND = 20;

/** Returns the milliseconds of a run. */
export const at = (times: number[], run: number): number =>
  median(times.slice(Math.max(0, run - AROUND), run));

type Size = { bytes: number };
type Storage = { checkpoints: Size; channel_values: Size; pending_writes: Size };

/** Returns the bytes that a thread's checkpoints take, with what Postgres needs for their rows. */
export async function storedBytes({ url }: BenchServer, thread: string): Promise<number> {
  const { checkpoints, channel_values, pending_writes } = await call<Storage>(
    `${url}/threads/${thread}/storage`,
  );
  return checkpoints.bytes + channel_values.bytes + pending_writes.bytes;
}

export const ms = (value: number): string => `${value.toFixed(1)} ms`;
export const kilobytes = (value: number): string => `${(value / 1000).toFixed(0)} kB`;

/** The factor by which runs may exceed a run on a short thread plus the growth of their floor. */
const TIMES = 1.3;
const LIMITS = [
  { run: 200, milliseconds: 20 },
  { run: 1000, milliseconds: 45 },
];
/** The bytes allowed beyond twice the content of 200 runs: 600 for each of their 600 checkpoints. */
const CONSTANT = 600 * 600;

/** A conversation must cost only what it adds. One client waits for 1,000 runs on a thread and gets the whole state. */
export async function measureGrowingThread({
  checkout,
  databases,
}: {
  checkout: Checkout;
  databases: Databases;
}): Promise<Line[]> {
  const server = await checkout.start({ database: await databases.fresh() });
  try {
    const warm = await createThread(server);
    for (let run = 0; run < WARM; run += 1) await wait(server, warm);
    const thread = await createThread(server);
    const times: number[] = [];
    let stored: Line | undefined;
    for (let run = 1; run <= 1000; run += 1) {
      const started = performance.now();
      // The floor writes JSON and reads none, so a run is over when all of its answer has come.
      const state = await waitForText(server, thread);
      times.push(performance.now() - started);
      if (run === 200) stored = storedLine(await storedBytes(server, thread), state.length);
    }
    return [
      { what: 'a run of the first 20, p50', figure: ms(at(times, AROUND)) },
      ...timeLines(times, await floor(1000)),
      stored!,
    ];
  } finally {
    await server.stop();
  }
}

function timeLines(times: number[], floors: number[]): Line[] {
  return LIMITS.flatMap(({ run, milliseconds }) => {
    const [took, least] = [at(times, run), at(floors, run)];
    const ratio = took / (at(times, AROUND) + least - at(floors, AROUND));
    return [
      {
        what: `run ${run}`,
        figure: ms(took),
        verdict: { goal: `<= ${milliseconds} ms`, met: took <= milliseconds },
      },
      {
        what: 'its floor: the graph with nothing stored, and the JSON of the state',
        figure: ms(least),
      },
      {
        what: 'the run to a run of the first 20 and the growth of the floor',
        figure: `${ratio.toFixed(2)}x`,
        verdict: { goal: `<= ${TIMES}x`, met: ratio <= TIMES },
      },
    ];
  });
}

const storedLine = (bytes: number, content: number): Line => ({
  what: `stored after 200 runs, of ${kilobytes(content)} of content`,
  figure: kilobytes(bytes),
  verdict: {
    goal: `<= ${kilobytes(2 * content + CONSTANT)}`,
    met: bytes <= 2 * content + CONSTANT,
  },
});
