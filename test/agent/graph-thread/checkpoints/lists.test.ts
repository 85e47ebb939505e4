import { randomUUID } from 'node:crypto';
import { HumanMessage, RemoveMessage, type BaseMessage } from '@langchain/core/messages';
import { StateGraph } from '@langchain/langgraph';
import {
  BaseCheckpointSaver,
  MemorySaver,
  type CheckpointTuple,
} from '@langchain/langgraph-checkpoint';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { keepLatestCheckpoints } from '../../../../src/agent/db/threads/checkpoint-pruning.ts';
import {
  loadCheckpointStorage,
  copyCheckpoints,
  deleteCheckpoints,
  deleteRunCheckpoints,
} from '../../../../src/agent/db/threads/checkpoint-upkeep.ts';
import { packCheckpoints } from '../../../../src/agent/db/checkpoints/checkpoint-packs.ts';
import {
  hasCheckpoint,
  readCheckpoints,
} from '../../../../src/agent/db/checkpoints/stored-checkpoints.ts';
import { openDatabase, type Database } from '../../../../src/agent/db/base/pool.ts';
import type { Saver } from '../../../../src/agent/graph-thread/checkpoints/saver.ts';
import { createLog } from '../../../../src/log.ts';
import { freshDatabase } from '../../../kit/postgres.ts';
import { anAnswer, DOINGS, State, type Change } from './doings.ts';
import { numbers } from './numbers.ts';
import { saverOn } from './saver-on.ts';

/*
 * Random programs of runs, forks, updates, copies, pruning and rollbacks run on two checkpointers at once: ours, and
 * LangGraph's own in memory. Every read must give the same result on both.
 */

let postgres: Awaited<ReturnType<typeof freshDatabase>>;
let db: Database;

beforeAll(async () => {
  postgres = await freshDatabase();
  const settings = { uri: postgres.uri, poolSize: 4, statementTimeoutSeconds: 30, name: 'test' };
  db = openDatabase(settings, createLog({ level: 'silent', process: 'test' }));
});

afterAll(async () => {
  await db.close();
  await postgres.drop();
});

const MEGABYTE = 1024 * 1024;
const ours = (bytes = MEGABYTE): Saver => saverOn(db, bytes);

type Put = Parameters<MemorySaver['put']>;
type PutWrites = Parameters<MemorySaver['putWrites']>;

const sorted = (writes: CheckpointTuple['pendingWrites'] = []): unknown[] =>
  writes.toSorted((a, b) =>
    JSON.stringify(a.slice(0, 2)).localeCompare(JSON.stringify(b.slice(0, 2))),
  );

/** What a tuple says, without what our server adds to its metadata. */
function factsOf(tuple: CheckpointTuple | undefined): unknown {
  if (tuple === undefined) return undefined;
  const {
    run_id: _run,
    thread_id: _thread,
    ...metadata
  } = tuple.metadata as Record<string, unknown>;
  const { thread_id, checkpoint_ns, checkpoint_id } = tuple.config.configurable!;
  const at = {
    thread_id: thread_id as string,
    checkpoint_ns: (checkpoint_ns ?? '') as string,
    checkpoint_id: checkpoint_id as string,
  };
  const { channel_values, ...checkpoint } = tuple.checkpoint;
  // A channel that nobody has written to has no version and no value in a database. It begins with its default.
  const values = Object.entries(channel_values).filter(
    ([channel]) => channel in checkpoint.channel_versions,
  );
  return {
    at,
    checkpoint,
    values: Object.fromEntries(values),
    metadata,
    parent: tuple.parentConfig?.configurable,
    writes: sorted(tuple.pendingWrites),
  };
}

async function told(tuples: AsyncIterable<CheckpointTuple>): Promise<unknown[]> {
  const found: unknown[] = [];
  for await (const tuple of tuples) found.push(factsOf(tuple));
  return found;
}

const same = (read: unknown, expected: unknown): void => expect(read).toEqual(expected);

/** Writes to both and reads from both. A graph must read the same from each. */
class Both extends BaseCheckpointSaver {
  own = ours();
  memory = new MemorySaver();

  override async getTuple(config: Put[0]): Promise<CheckpointTuple | undefined> {
    const [tuple, expected] = await Promise.all([
      this.own.getTuple(config),
      this.memory.getTuple(config),
    ]);
    same(factsOf(tuple), factsOf(expected));
    return tuple;
  }

  override async *list(...asked: Parameters<MemorySaver['list']>): AsyncGenerator<CheckpointTuple> {
    yield* this.own.list(...asked);
  }

  override async put(
    config: Put[0],
    checkpoint: Put[1],
    metadata: Put[2],
    versions?: Record<string, number | string>,
  ): Promise<Put[0]> {
    const [at] = await Promise.all([
      this.own.put(config, checkpoint, metadata, versions!),
      this.memory.put(config, checkpoint, metadata),
    ]);
    return at;
  }

  override async putWrites(...given: PutWrites): Promise<void> {
    await Promise.all([this.own.putWrites(...given), this.memory.putWrites(...given)]);
  }

  override getNextVersion(current: number | undefined): number {
    return this.own.getNextVersion(current);
  }

  override deleteThread(): Promise<void> {
    return Promise.reject(new Error('not asked for'));
  }

  /** Everything about a thread, read by the checkpointer that wrote it and by one with an empty memory. */
  async read(thread_id: string): Promise<unknown[][]> {
    const config = { configurable: { thread_id } };
    return [await told(this.own.list(config)), await told(ours().list(config))];
  }

  /** What these two must read. */
  async expected(thread_id: string): Promise<unknown[][]> {
    const expected = await told(this.memory.list({ configurable: { thread_id } }));
    return [expected, expected];
  }
}

/** A thread under test. */
type Thread = { id: string };

class Program {
  readonly both = new Both();
  readonly number: (below: number) => number;
  readonly graph: ReturnType<typeof graphWith>;
  thread: Thread = { id: randomUUID() };

  constructor(seed: number) {
    this.number = numbers(seed);
    this.graph = graphWith(this.both, this.number);
  }

  pick<T>(from: readonly T[]): T {
    return from[this.number(from.length)]!;
  }

  async begin(): Promise<void> {
    await db.query({
      text: `insert into gx.thread (thread_id) values ($1)`,
      values: [this.thread.id],
    });
  }

  async #checkpoints(): Promise<string[]> {
    const ids: string[] = [];
    for await (const { config } of this.both.memory.list({
      configurable: { thread_id: this.thread.id, checkpoint_ns: '' },
    }))
      ids.push(config.configurable!['checkpoint_id'] as string);
    return ids;
  }

  /** `at` is the checkpoint to go on from, if it is not the newest. */
  async run(at?: string, given?: string[]): Promise<string> {
    const run_id = randomUUID();
    const doing =
      given ?? Array.from({ length: 1 + this.number(3) }, () => this.pick(Object.keys(DOINGS)));
    const messages = [
      new HumanMessage({ id: randomUUID(), content: `a question ${this.number(10)}` }),
    ];
    const configurable = {
      thread_id: this.thread.id,
      run_id,
      ...(at !== undefined && { checkpoint_id: at }),
    };
    await this.both.own.steps.runStoring(
      { thread_id: this.thread.id, run_id, attempt: 1, empty: false },
      { ahead: this.number(2) === 0 },
      async () => {
        await this.graph.invoke(
          { messages, doing },
          {
            configurable,
            recursionLimit: 300,
            durability: given ? 'async' : this.pick(['async', 'sync', 'exit'] as const),
          },
        );
      },
    );
    return run_id;
  }

  async step(): Promise<void> {
    const ids = await this.#checkpoints();
    const thread_id = this.thread.id;
    switch (this.number(10)) {
      case 0:
        if (ids.length > 0) await this.run(this.pick(ids));
        break;
      case 1: {
        const at = ids.length > 0 && this.number(2) === 0 ? { checkpoint_id: this.pick(ids) } : {};
        await this.graph.updateState(
          { configurable: { thread_id, ...at } },
          { messages: [anAnswer()], doing: [] },
          'act',
        );
        break;
      }
      case 2:
        // Another process goes on, or this one has forgotten the thread.
        this.both.own = ours(this.pick([MEGABYTE, 1000]));
        break;
      case 3:
        if (this.number(2) === 0) await this.copy();
        break;
      case 4:
        if (this.number(3) === 0) await this.prune();
        else await packCheckpoints(db, thread_id, '');
        break;
      case 5:
        await this.rollBack();
        break;
      default:
        await this.run();
    }
  }

  /** Reads a part of the history, or one checkpoint of it, from both. */
  async look(): Promise<void> {
    const { own, memory } = this.both;
    const ids = await this.#checkpoints();
    const config = { configurable: { thread_id: this.thread.id, checkpoint_ns: '' } };
    const before = { configurable: { ...config.configurable, checkpoint_id: this.pick(ids) } };
    const filter = { source: this.pick(['input', 'loop', 'update']) };
    for (const asked of [
      { limit: 1 + this.number(70) },
      { before, limit: 1 + this.number(40) },
      { before },
      { filter },
      { filter, before, limit: 2 },
    ])
      same(await told(own.list(config, asked)), await told(memory.list(config, asked)));
    for (const saver of [own, ours()]) {
      same(factsOf(await saver.getTuple(before)), factsOf(await memory.getTuple(before)));
      same(factsOf(await saver.getTuple(config)), factsOf(await memory.getTuple(config)));
    }
    const stored = await loadCheckpointStorage(db, this.thread.id);
    same(stored.checkpoints.count, ids.length);
    for (const id of ids.slice(-2)) same(await hasCheckpoint(db, [this.thread.id, '', id]), true);
    same(await hasCheckpoint(db, [this.thread.id, '', randomUUID()]), false);
  }

  async copy(): Promise<void> {
    const { memory } = this.both;
    const copy = randomUUID();
    await copyCheckpoints(db, this.thread.id, copy);
    await db.query({ text: `insert into gx.thread (thread_id) values ($1)`, values: [copy] });
    const from = this.thread.id;
    if (memory.storage[from] !== undefined)
      memory.storage[copy] = structuredClone(memory.storage[from]);
    for (const [key, writes] of Object.entries(memory.writes)) {
      const [thread, ...rest] = JSON.parse(key) as string[];
      if (thread === from) memory.writes[JSON.stringify([copy, ...rest])] = structuredClone(writes);
    }
    if (this.number(2) === 0) this.thread = { id: copy };
    else same(await this.both.read(copy), await this.both.expected(copy));
  }

  async prune(): Promise<void> {
    same(await keepLatestCheckpoints(db, this.thread.id), true);
    for (const checkpoints of Object.values(this.both.memory.storage[this.thread.id] ?? {}))
      for (const id of Object.keys(checkpoints).toSorted().slice(0, -1)) delete checkpoints[id];
  }

  async rollBack(): Promise<void> {
    const { memory } = this.both;
    const before = structuredClone({
      storage: { ...memory.storage },
      writes: { ...memory.writes },
    });
    const run_id = await this.run();
    await deleteRunCheckpoints(db, this.thread.id, run_id);
    Object.assign(memory, before);
  }
}

function graphWith(checkpointer: BaseCheckpointSaver, number: (below: number) => number) {
  const act = ({ messages, doing }: typeof State.State): Change & { doing: string[] } => ({
    ...DOINGS[doing[0] ?? 'nothing']!(messages, number),
    doing: doing.slice(1),
  });
  return new StateGraph(State)
    .addNode('act', act)
    .addEdge('__start__', 'act')
    .addConditionalEdges('act', ({ doing }) => (doing.length > 0 ? 'act' : '__end__'))
    .compile({ checkpointer });
}

/** As many programs as `PROGRAMS` says. Each takes some five seconds. */
const SEEDS = Array.from({ length: Number(process.env['PROGRAMS'] ?? 4) }, (_, at) => 1000 + at);

describe('lists are read as LangGraph keeps them in memory', () => {
  test.each(SEEDS)('program %i', async (seed) => {
    const program = new Program(seed);
    await program.begin();
    // Enough for a pack.
    for (let run = 0; run < 16; run += 1) await program.run();
    for (let step = 0; step < 18; step += 1) {
      await program.step();
      if (step % 2 === 0) await program.look();
      expect(await program.both.read(program.thread.id)).toEqual(
        await program.both.expected(program.thread.id),
      );
    }
  });
});

describe('packs', () => {
  const rows = async (id: string): Promise<number[]> => {
    const [row] = await db.query<{ rows: number; packs: number }>({
      text: `select (select count(*) from gx.checkpoints where thread_id = $1) as rows,
        (select count(*) from gx.checkpoint_packs where thread_id = $1) as packs`,
      values: [id],
    });
    return [row!.rows, row!.packs];
  };
  const long = (steps: number): string[] => Array.from({ length: steps }, () => 'answer');

  test('a run packs all but the newest checkpoints, and is rolled back with its packs', async () => {
    const program = new Program(7);
    const { both, thread: of } = program;
    await program.begin();
    await program.run(undefined, long(80));
    // 82 checkpoints: one for the input, one for the start.
    expect(await rows(of.id)).toEqual([50, 1]);
    const before = await both.expected(of.id);
    expect(await both.read(of.id)).toEqual(before);
    const { memory } = both;
    const kept = structuredClone({ storage: { ...memory.storage }, writes: { ...memory.writes } });
    const run_id = await program.run(undefined, long(150));
    expect(await rows(of.id)).toEqual([42, 6]);
    expect(await both.read(of.id)).toEqual(await both.expected(of.id));
    await deleteRunCheckpoints(db, of.id, run_id);
    Object.assign(memory, kept);
    expect(await both.read(of.id)).toEqual(before);
    expect((await rows(of.id))[0]).toBeGreaterThanOrEqual(32);
    await deleteCheckpoints(db, [of.id]);
    expect(await rows(of.id)).toEqual([0, 0]);
  });
});

describe('what is stored', () => {
  const stored = async (thread: string): Promise<{ rows: number; bytes: number }> => {
    const [row] = await db.query<{ rows: number; bytes: number }>({
      text: `select count(*) as rows, coalesce(sum(length(blob)), 0) as bytes from gx.checkpoint_blobs where thread_id = $1 and type = 'list'`,
      values: [thread],
    });
    return row!;
  };
  const texts = async (thread: string): Promise<string> =>
    JSON.stringify(
      await db.query({
        text: `select convert_from(blob, 'UTF8') from gx.checkpoint_blobs where thread_id = $1`,
        values: [thread],
      }),
    );
  const say = (content: string): { messages: BaseMessage[]; doing: string[] } => ({
    messages: [new HumanMessage({ id: randomUUID(), content })],
    doing: ['answer'],
  });
  const thread = async (): Promise<string> => {
    const id = randomUUID();
    await db.query({ text: `insert into gx.thread (thread_id) values ($1)`, values: [id] });
    return id;
  };

  test('of 300 runs is twice their content and a constant for each step, and a reader reads few rows', async () => {
    const thread_id = await thread();
    const graph = graphWith(ours(), numbers(1));
    const asked = Array.from({ length: 300 }, (_, run) => `question ${run}, of a few words`);
    for (const content of asked) await graph.invoke(say(content), { configurable: { thread_id } });
    const { rows, bytes } = await stored(thread_id);
    const { messages } = (
      await graphWith(ours(), numbers(1)).getState({ configurable: { thread_id } })
    ).values as typeof State.State;
    expect(messages.map((message) => message.content)).toEqual(
      asked.flatMap((content) => [content, 'an answer']),
    );
    const content = JSON.stringify(messages).length;
    expect(bytes).toBeLessThan(2 * content + 100 * rows);
    const [read] = await readCheckpoints(db, { threadId: thread_id, namespace: '', limit: 1 });
    expect(read!.lists!.length).toBeLessThan(64 + rows / 64 + 5);
  }, 120_000);

  test('a list that changes in its middle at each step is stored whole now and then', async () => {
    const thread_id = await thread();
    const both = new Both();
    const graph = graphWith(both, numbers(1));
    const pinned = randomUUID();
    for (let run = 0; run < 150; run += 1) {
      const messages = [
        new HumanMessage({ id: pinned, content: `now: ${run}` }),
        new HumanMessage({ id: randomUUID(), content: 'x' }),
      ];
      await graph.invoke(
        { messages, doing: run % 3 === 0 ? ['replace'] : ['remove'] },
        { configurable: { thread_id } },
      );
    }
    expect(await both.read(thread_id)).toEqual(await both.expected(thread_id));
    const { lists } = (
      await readCheckpoints(db, { threadId: thread_id, namespace: '', limit: 1 })
    )[0]!;
    expect(lists!.length).toBeLessThan(140);
  }, 120_000);

  test('a thread that is pruned keeps no element that its newest state has not; one that is rolled back keeps none of the run', async () => {
    const program = new Program(1);
    await program.begin();
    const { graph, thread: pruned } = program;
    const configurable = { thread_id: pruned.id };
    for (const content of ['one', 'a secret', 'three'])
      await graph.invoke(say(content), { configurable });
    const { values } = await graph.getState({ configurable });
    const secret = (values as typeof State.State).messages.find(
      ({ content }) => content === 'a secret',
    )!;
    await graph.updateState(
      { configurable },
      { messages: [new RemoveMessage({ id: secret.id! })] },
    );
    expect(await texts(pruned.id)).toContain('a secret');
    await program.prune();
    expect(await texts(pruned.id)).not.toContain('a secret');
    expect(await program.both.read(pruned.id)).toEqual(await program.both.expected(pruned.id));
    await graph.invoke(say('four'), { configurable });
    expect(await program.both.read(pruned.id)).toEqual(await program.both.expected(pruned.id));
    const before = await texts(pruned.id);
    await program.rollBack();
    expect(await texts(pruned.id)).toEqual(before);
  });

  test('values of a deleted run stay while another run of the thread is under way, which may stand on them', async () => {
    const thread_id = await thread();
    const run_id = randomUUID();
    const saver = ours();
    const graph = graphWith(saver, numbers(1));
    await saver.steps.runStoring(
      { thread_id, run_id, attempt: 1, empty: false },
      { ahead: false },
      () => graph.invoke(say('x'), { configurable: { thread_id, run_id } }),
    );
    await db.query({
      text: `insert into gx.run (run_id, thread_id, assistant_id, graph_id, status, kwargs, multitask_strategy)
        values ($1, $2, $1, 'g', 'running', '{}', 'enqueue')`,
      values: [randomUUID(), thread_id],
    });
    expect(await keepLatestCheckpoints(db, thread_id)).toBe(false);
    await deleteRunCheckpoints(db, thread_id, run_id);
    expect((await stored(thread_id)).rows).toBeGreaterThan(0);
    await db.query({
      text: `update gx.run set status = 'success' where thread_id = $1`,
      values: [thread_id],
    });
    expect(await keepLatestCheckpoints(db, thread_id)).toBe(true);
    expect((await stored(thread_id)).rows).toBe(0);
  });

  test('a list whose base is missing is refused, not read short', async () => {
    const thread_id = await thread();
    const graph = graphWith(ours(), numbers(1));
    await graph.invoke(say('x'), { configurable: { thread_id } });
    await db.query({
      text: `delete from gx.checkpoint_blobs where thread_id = $1 and channel = 'messages' and base is null`,
      values: [thread_id],
    });
    await expect(ours().getTuple({ configurable: { thread_id } })).rejects.toThrow(
      'has lost its base',
    );
  });
});
