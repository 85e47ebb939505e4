import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import type { AgentProcess } from '../kit/agent-server.ts';
import { importThreads } from '../kit/import-threads.ts';
import { freshDatabase, type TestDatabase } from '../kit/postgres.ts';
import { startPython } from './agent.ts';

/* Threads that ran on LangGraph's own Postgres saver go on here. */

const run = promisify(execFile);

type Values = Record<string, unknown> & {
  messages?: { type: string; content: string; id: string }[];
  notes?: unknown[];
  expected?: string;
};
type Saved = {
  values: Values;
  next: string[];
  interrupts: { id: string; value: unknown }[];
  history: Values[];
};

/** Runs graphs on the official saver, and returns the states of their threads. */
async function onSaver(...args: string[]): Promise<Record<string, Saved>> {
  const { stdout } = await run(
    `${inject('python')}/python`,
    ['test/python/imports/saved.py', ...args],
    {
      env: { PYTHONPATH: 'test/python' },
    },
  );
  return JSON.parse(stdout) as Record<string, Saved>;
}

const [WAITS, OVER, EDITED, STOPPED, TALLIED] = [1, 2, 3, 4, 5].map(
  (n) => `4f0c1d1e-7f3b-4d53-9d0b-3f3f2a1c9a0${n}`,
) as [string, string, string, string, string];
const NAMED = 'customer 42';
/** In Python, `uuid.uuid5(uuid.NAMESPACE_OID, "customer 42")`. */
const NAMED_HERE = '130ff1fc-73d2-5df9-bf7b-aed621840089';

let source: TestDatabase;
let saved: Record<string, Saved>;
/** The same threads after an answer to their questions. */
let answered: Record<string, Saved>;

beforeAll(async () => {
  source = await freshDatabase({ migrated: false });
  saved = await onSaver(source.uri);
  const other = await freshDatabase({ migrated: false });
  answered = await onSaver(other.uri, 'answered');
  await other.drop();
});
afterAll(() => source.drop());

/** Of messages, what every server shows of them. */
const shown = ({ messages, ...values }: Values): unknown =>
  messages === undefined
    ? values
    : { ...values, messages: messages.map(({ type, content, id }) => [type, content, id]) };

describe.each<[string, Record<string, string>]>([
  ['as they are', {}],
  ['encrypted with a key', { GX_AES_KEY: randomBytes(32).toString('base64') }],
])('threads that are imported %s', (name, env) => {
  let target: TestDatabase;
  let agent: AgentProcess;

  beforeAll(async () => {
    target = await freshDatabase({ migrated: false });
  });
  afterAll(async () => {
    await agent.kill();
    await target.drop();
  });

  const from = (...args: string[]): ReturnType<typeof importThreads> =>
    importThreads(target.uri, ['--from', source.uri, ...args], env);

  test('an import that is only tried writes nothing', async () => {
    const { code, output } = await from('--graph', 'approval', '--dry-run');
    expect(output).toMatch(
      /nothing was written: 6 imported with \d+ checkpoints, 0 already there, 0 left out\.\n$/,
    );
    expect(code).toBe(0);
    expect(await target.sql(`select 1 from pg_namespace where nspname = 'gx'`)).toEqual([]);
  });

  test('a thread has the graph that its checkpoints name, or else that of --graph', async () => {
    const unnamed = await from();
    expect(unnamed.output).toContain(
      `Thread ${WAITS} is left out: its checkpoints name no graph; name it with --graph.\n`,
    );
    expect(unnamed.output).toMatch(
      /Done: 2 imported with \d+ checkpoints, 0 already there, 4 left out\.\n$/,
    );
    expect(unnamed.errors).toBe('4 of 6 threads were left out; the lines above say why.\n');
    expect(unnamed.code).toBe(1);
    expect((await from('--graph', 'outer', '--thread', NAMED)).output).toMatch(/Done: 1 imported/);
    expect(
      (await from('--graph', 'approval', '--thread', WAITS, '--thread', OVER, '--thread', STOPPED))
        .output,
    ).toMatch(/Done: 3 imported/);
    expect(await from('--graph', 'echo')).toMatchObject({
      code: 0,
      output: expect.stringMatching(/Done: 0 imported.*, 6 already there, 0/),
    });
  });

  test('their records and states are as before', async () => {
    agent = await startPython(target.uri, env, 'imports.gx.json');
    const threads = await agent.client.threads.search({ limit: 10, sortBy: 'thread_id' });
    const facts = threads.map(({ thread_id, status, metadata }) => ({
      thread_id,
      status,
      metadata,
    }));
    expect(facts).toHaveLength(6);
    expect(facts).toEqual(
      expect.arrayContaining([
        { thread_id: WAITS, status: 'interrupted', metadata: { graph_id: 'approval' } },
        { thread_id: OVER, status: 'idle', metadata: { graph_id: 'approval' } },
        { thread_id: STOPPED, status: 'idle', metadata: { graph_id: 'approval' } },
        { thread_id: TALLIED, status: 'idle', metadata: { graph_id: 'tallies' } },
        { thread_id: EDITED, status: 'idle', metadata: { graph_id: 'edits' } },
        {
          thread_id: NAMED_HERE,
          status: 'interrupted',
          metadata: { graph_id: 'outer', imported_thread_id: NAMED },
        },
      ]),
    );
    for (const [id, { values, next, interrupts, history }] of Object.entries(saved)) {
      const here = id === NAMED ? NAMED_HERE : id;
      const state = await agent.client.threads.getState<Values>(here);
      expect([shown(state.values), state.next]).toEqual([shown(values), next]);
      expect(state.tasks.flatMap((task) => task.interrupts)).toMatchObject(interrupts);
      const states = await agent.client.threads.getHistory<Values>(here, { limit: 1000 });
      expect(states.map((one) => shown(one.values))).toEqual(history.map(shown));
      const { created_at, updated_at } = await agent.client.threads.get(here);
      expect(Date.parse(created_at)).toBe(Date.parse(states.at(-1)!.created_at!));
      // The last checkpoint of a subgraph is later than that of the graph.
      const later = Date.parse(updated_at) - Date.parse(states[0]!.created_at!);
      expect(later > 0).toBe(id === NAMED);
    }
  });

  test('nothing of them can be read in the database where a key encrypts', async () => {
    for (const table of ['checkpoint_blobs', 'checkpoint_writes']) {
      const [found] = await target.sql<{ n: number }>(
        `select count(*)::int as n from gx.${table} where position('Draft of'::bytea in blob) > 0`,
      );
      expect(found!.n > 0).toBe(name === 'as they are');
    }
  });

  test('an answer to a question goes on, also within a subgraph, as on the saver', async () => {
    const asked = [
      [WAITS, WAITS, 'approval'],
      [NAMED, NAMED_HERE, 'outer'],
    ] as const;
    for (const [id, here, graph] of asked) {
      const { thread_id: copy } = (await agent.client.threads.copy(here)) as unknown as {
        thread_id: string;
      };
      for (const thread of [copy, here]) {
        expect(await agent.client.runs.wait(thread, graph, { command: { resume: 'yes' } })).toEqual(
          answered[id]!.values,
        );
        const states = await agent.client.threads.getHistory<Values>(thread, { limit: 1000 });
        expect(states.map((one) => one.values)).toEqual(answered[id]!.history);
      }
    }
    expect((await agent.client.threads.get(WAITS)).status).toBe('idle');
  });

  test('a run that was stopped before a node goes on there', async () => {
    const values = await agent.client.runs.wait(STOPPED, 'approval', { input: null });
    expect(values).toMatchObject({
      draft: 'Stopped',
      __interrupt__: [{ value: { question: 'Is it good?', draft: 'Stopped' } }],
    });
    expect((await agent.client.threads.get(STOPPED)).status).toBe('interrupted');
  });

  test('a list that LangGraph stores by what was added goes on', async () => {
    const { marks } = (await agent.client.runs.wait(TALLIED, 'tallies', {
      input: { marks: ['here'] },
    })) as { marks: string[] };
    expect(marks).toEqual([...(saved[TALLIED]!.values['marks'] as string[]), 'here', '17 before']);
  });

  test('a long list goes on, and so does an earlier state', async () => {
    const edit = (does: string, more = {}): Promise<unknown> =>
      agent.client.runs.wait(EDITED, 'edits', { input: { does, at: 1 }, ...more });
    const earlier = (await agent.client.threads.getHistory(EDITED, { limit: 100 }))[9]!;
    await edit('append');
    await edit('change');
    await edit('append', {
      checkpointId: (earlier.checkpoint as { checkpoint_id: string }).checkpoint_id,
    });
    const states = (await agent.client.threads.getHistory<Values>(EDITED, { limit: 1000 })).filter(
      ({ values }) => values.expected,
    );
    expect(states.length).toBeGreaterThan(
      saved[EDITED]!.history.filter(({ expected }) => expected).length + 5,
    );
    for (const { values } of states)
      expect([
        ...values.messages!.map(({ type, content, id }) => [type, content, id]),
        ...values.notes!,
      ]).toEqual(JSON.parse(values.expected!));
  });
});
