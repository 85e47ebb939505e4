import { createHmac } from 'node:crypto';
import assert from 'node:assert/strict';
import type { RunWish } from './ask.ts';

/*
 * The shelf: small projects of the kinds that public repositories have, and what each must do unchanged. A project lies
 * in `shelf/<name>`.
 */

/** Two runs on one thread, and parts of the values that each ends with. */
export type Talk = Omit<RunWish, 'input'> & {
  runs: readonly (readonly [input: unknown, values: unknown])[];
};

export type ShelfProject = {
  /** The kinds of things that it stands for. */
  kinds: string;
  /** The path of its langgraph.json. */
  config: string;
  /** The folder in which its author has uv lock the packages. */
  locks?: string;
  /** Files that git leaves out, by their paths. */
  files?: Record<string, string>;
  graphs: readonly string[];
  talks: readonly Talk[];
  /** What `gx dev` warns of: each pattern fits one warning, and each warning one pattern. */
  warnings?: readonly RegExp[];
  /** The same of the server in an image that was built from git. */
  builtWarnings?: readonly RegExp[];
  /** With what words a start ends. Nothing else is asked then. */
  refusal?: RegExp;
  /** With what words a build ends, if it does. */
  buildRefusal?: RegExp;
  headers?: Record<string, string>;
  /** What else must hold. */
  more?: (url: string) => Promise<void>;
};

const human = (content: string): object => ({ messages: [{ role: 'human', content }] });
/** The last message of a state. */
const says = (content: string, count: number): object => ({
  messages: { length: count, [count - 1]: { content } },
});
const turns = (...words: readonly string[]): Talk['runs'] =>
  words.map((word, index) => [human(word), says(`turn ${index + 1}`, 2 * (index + 1))]);

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
/** Returns a token of the project `guarded`. */
function tokenOf(sub: string): Record<string, string> {
  const signed = `${part({ alg: 'HS256', typ: 'JWT' })}.${part({ sub, scope: 'read' })}`;
  const key = 'a secret of tests that is long enough for the algorithm';
  return {
    authorization: `Bearer ${signed}.${createHmac('sha256', key).update(signed).digest('base64url')}`,
  };
}

const statusOf = async (
  url: string,
  headers: Record<string, string> = {},
  body?: object,
): Promise<number> => {
  const how = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
  return (await fetch(url, { ...how, headers: { 'content-type': 'application/json', ...headers } }))
    .status;
};

/** Asserts that a thread of one caller is not there for another one, and that visitors get a 401 or a 403. */
async function assertOwners(
  url: string,
  [one, other]: readonly [Record<string, string>, Record<string, string>],
): Promise<void> {
  const made = await fetch(`${url}/threads`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...one },
    body: '{}',
  });
  const { thread_id: thread } = (await made.json()) as { thread_id: string };
  assert.equal(await statusOf(`${url}/threads/${thread}`, one), 200);
  assert.equal(await statusOf(`${url}/threads/${thread}`, other), 404);
  assert.match(
    String(await statusOf(`${url}/threads`, {}, {})),
    /^40[13]$/,
    'a visitor makes a thread',
  );
  assert.equal(await statusOf(`${url}/assistants/search`, {}, {}), 200, 'a visitor looks around');
  assert.equal(await statusOf(`${url}/threads`, { authorization: 'Bearer nonsense' }, {}), 401);
}

/** Images have their variables from a deployment, so no file is missed there. */
export const NO_ENV = /\.env is not there/;

const BOUNDED = [
  'js_caught',
  'js_model_fallback',
  'js_model_retry',
  'js_runnables',
  'js_tool_retry',
  'py_model_fallback',
  'py_model_retry',
  'py_runnables',
  'py_tool_retry',
];

type BoundedState = {
  messages: { type: string; content: unknown; status?: string }[];
  __interrupt__?: { value: { gx: { unit: string; spent: number } } }[];
};

/**
 * Asserts that a graph whose budget pays for one call makes one, and waits without a word of an error in its state,
 * whatever retries the call or answers for it; and that it ends once the budget is raised.
 */
async function assertPauses(url: string, graph: string): Promise<void> {
  const post = async <T>(path: string, body: object): Promise<T> => {
    const answer = await fetch(`${url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return (await answer.json()) as T;
  };
  const { thread_id } = await post<{ thread_id: string }>('/threads', {});
  const run = (body: object): Promise<BoundedState> =>
    post(`/threads/${thread_id}/runs/wait`, { assistant_id: graph, ...body });
  const countCalls = async (): Promise<number> => {
    const usage = await fetch(`${url}/threads/${thread_id}/usage`);
    return ((await usage.json()) as { calls: number }).calls;
  };
  const asked = await run({ input: human('one'), budget: { calls: 1 } });
  assert.deepEqual(
    [asked.__interrupt__?.map(({ value: { gx } }) => [gx.unit, gx.spent]), await countCalls()],
    [[['calls', 1]], 1],
    graph,
  );
  // A tool that asks a model itself has not answered yet.
  const types = ['human', 'ai', ...(graph.endsWith('tool_retry') ? [] : ['tool'])];
  assert.deepEqual(
    asked.messages.map(({ type }) => type),
    types,
    graph,
  );
  assert.ok(!asked.messages.some(({ status }) => status === 'error'), graph);
  const ended = await run({ command: { resume: { decision: 'raise', to: 10 } } });
  assert.deepEqual(
    [ended.__interrupt__, ended.messages.map(({ type }) => type), ended.messages[3]?.content],
    [undefined, ['human', 'ai', 'tool', 'ai'], 'done'],
    graph,
  );
}

export const SHELF: Readonly<Record<string, ShelfProject>> = {
  notes: {
    kinds:
      'uv.lock, src layout, a TypedDict with pydantic, dataclass, enum and set inside, a context of defaults, no .env',
    config: 'langgraph.json',
    locks: '',
    graphs: ['notes'],
    talks: [
      {
        graph: 'notes',
        runs: [
          [
            { said: 'quiet words' },
            {
              notes: [{ text: 'quiet words', mood: 'calm' }],
              told: 'nobody in particular: 1 notes, 0 loud, moods CALM',
            },
          ],
          [
            { said: 'louder!' },
            {
              told: 'nobody in particular: 2 notes, 1 loud, moods CALM, LOUD',
              profile: { written: 2 },
            },
          ],
        ],
      },
      {
        graph: 'notes',
        context: { owner: 'ann' },
        runs: [[{ said: 'mine' }, { profile: { owner: 'ann', written: 1 } }]],
      },
    ],
    warnings: [NO_ENV],
  },
  starter: {
    kinds:
      'apps/agent of a monorepo in npm, unknown keys, create_agent with a tool that changes the state, a provider by HTTP',
    config: 'apps/agent/langgraph.json',
    locks: 'apps/agent',
    graphs: ['sample_agent'],
    talks: [
      {
        graph: 'sample_agent',
        runs: [
          [human('milk'), { ...says('You said milk', 4), tasks: ['milk'] }],
          [human('bread'), { ...says('You said bread', 8), tasks: ['milk', 'bread'] }],
        ],
      },
    ],
    warnings: [/package_manager/, /recursion_limit/, /store\.provider/, NO_ENV],
  },
  harness: {
    kinds:
      'backend/ with a workspace of uv, a factory by the name of a module, checkpointer.path, middleware with a pydantic state',
    config: 'backend/langgraph.json',
    locks: 'backend',
    graphs: ['lead_agent'],
    talks: [
      {
        graph: 'lead_agent',
        config: { configurable: { model_name: 'large' } },
        runs: [
          [
            human('one'),
            { ...says('large heard 1: one', 2), uploads: [{ path: '/mnt/turn-1.txt' }] },
          ],
          [
            human('two'),
            {
              ...says('large heard 2: two', 4),
              uploads: [{ path: '/mnt/turn-1.txt' }, { path: '/mnt/turn-2.txt' }],
            },
          ],
        ],
      },
    ],
    warnings: [/checkpointer\.path/, NO_ENV],
  },
  fixed: {
    kinds: 'requirements.txt, a bare module, a saver of its own, config_schema beside a path',
    config: 'langgraph.json',
    graphs: ['agent', 'shouting'],
    talks: [
      { graph: 'agent', runs: turns('one', 'two') },
      {
        graph: 'shouting',
        context: { ending: '?' },
        runs: [
          [{ text: 'a' }, { shouted: ['A?'] }],
          [{ text: 'b' }, { shouted: ['A?', 'B?'] }],
        ],
      },
    ],
    warnings: [/config_schema/],
  },
  folders: {
    kinds:
      'folders in dependencies, one a package and one not, setuptools, a hard env file two folders up',
    config: 'services/agent/langgraph.json',
    files: { '.env': 'FLOOR=3\nDESK=desk#4 of floor ${FLOOR}   # the one at the window\n' },
    graphs: ['by_module', 'desk'],
    talks: ['desk', 'by_module'].map((graph) => ({
      graph,
      runs: [
        [{ name: 'Ann' }, { visits: 1, told: 'Hello Ann, visit 1 at desk#4 of floor 3, please' }],
        [{ name: 'Ann' }, { visits: 2 }],
      ],
    })),
  },
  guarded: {
    kinds:
      'pip -e, JWT with owner filters, visitors without a name, FastAPI with lifespan and middleware, a state of pydantic',
    config: 'langgraph.json',
    graphs: ['vault'],
    headers: tokenOf('ann'),
    talks: [
      {
        graph: 'vault',
        headers: tokenOf('ann'),
        runs: [
          [{ put: 'one' }, { owner: 'ann', secrets: [{ words: 'one', length: 3 }] }],
          [{ put: 'three' }, { secrets: { length: 2, 1: { words: 'three', length: 5 } } }],
        ],
      },
    ],
    warnings: [/pip_installer/],
    more: async (url) => {
      await assertOwners(url, [tokenOf('ann'), tokenOf('bob')]);
      const health = await fetch(`${url}/health`);
      assert.deepEqual(
        [health.headers.get('x-vault'), await health.json()],
        ['stamped', { opened: ['db'] }],
      );
    },
  },
  factories: {
    kinds:
      'factories by config, by runtime, kept open and not compiled, a state of a dataclass with an enum',
    config: 'langgraph.json',
    graphs: ['by_config', 'by_nothing', 'by_runtime', 'kept_open'],
    talks: (
      [
        ['by_config', 'config'],
        ['by_runtime', 'run'],
        ['kept_open', 'open'],
        ['by_nothing', 'nothing'],
      ] as const
    ).map(([graph, name]) => ({
      graph,
      runs: [
        [
          { told: 'nothing yet' },
          { size: 'small', steps: [{ size: 'small', by: name }], told: `red ${name}: SMALL` },
        ],
        [{ told: 'more' }, { size: 'large', told: `red ${name}: SMALL, LARGE` }],
      ],
    })),
  },
  deep: {
    kinds: 'deepagents with a subagent, requirements.txt',
    config: 'langgraph.json',
    graphs: ['research'],
    talks: [
      {
        graph: 'research',
        runs: [
          [human('shells'), says('The helper found shells', 4)],
          [human('pearls'), says('The helper found pearls', 8)],
        ],
      },
    ],
    warnings: [NO_ENV],
  },
  steps: {
    kinds: 'the functional API, poetry.lock, store.path',
    config: 'langgraph.json',
    graphs: ['steps'],
    talks: [
      {
        graph: 'steps',
        runs: [
          [['a', 'b'], { turn: 1, parts: ['a of turn 1', 'b of turn 1'] }],
          [['c'], { turn: 2, parts: ['c of turn 2'] }],
        ],
      },
    ],
    warnings: [/store\.path/],
  },
  earlier: {
    kinds: 'LangGraph 0.6 by uv.lock, its own agent with a tool',
    config: 'langgraph.json',
    locks: '',
    graphs: ['earlier'],
    talks: [
      {
        graph: 'earlier',
        runs: [
          [human('add'), says('It is 41', 4)],
          [human('again'), says('It is 45', 8)],
        ],
      },
    ],
  },
  oldest: {
    kinds: 'LangGraph 0.4 by uv.lock, settings in place of a context',
    config: 'langgraph.json',
    locks: '',
    graphs: ['oldest'],
    talks: [
      {
        graph: 'oldest',
        runs: [
          [{ text: 'a' }, { heard: ['heard a'] }],
          [{ text: 'b' }, { heard: ['heard a', 'heard b'] }],
        ],
      },
    ],
  },
  react: {
    kinds:
      'npm, TypeScript, an agent of langchain with a tool, a state of zod with a context of defaults',
    config: 'langgraph.json',
    graphs: ['agent', 'plain'],
    talks: [
      {
        graph: 'agent',
        runs: [
          [human('Rome'), says('You said Rome', 4)],
          [human('Oslo'), says('You said Oslo', 8)],
        ],
      },
      {
        graph: 'plain',
        runs: [
          [{ text: 'a' }, { said: ['a.'] }],
          [{ text: 'b' }, { said: ['a.', 'b.'] }],
        ],
      },
    ],
    warnings: [NO_ENV],
  },
  aged: {
    kinds: "LangGraph.js 0.2.8 by the first yarn's lock",
    config: 'langgraph.json',
    graphs: ['agent'],
    talks: [],
    refusal: /@langchain\/langgraph.*0\.2\.8/,
  },
  workspace: {
    kinds:
      'a workspace of pnpm, files of .mts, an env file two folders up, a factory of an entrypoint',
    config: 'apps/agents/langgraph.json',
    files: { '.env': "PLACE_OF_WRITING='the #1 desk'\n" },
    graphs: ['made', 'writer'],
    talks: [
      {
        graph: 'writer',
        runs: [
          [{ text: 'a' }, { lines: ['1. a'], place: 'the #1 desk' }],
          [{ text: 'b' }, { lines: ['1. a', '2. b'] }],
        ],
      },
      {
        graph: 'made',
        config: { configurable: { by: 10 } },
        runs: [[{ number: 2 }, { doubled: 40 }]],
      },
    ],
  },
  commonjs: {
    kinds: 'CommonJS, npm, classes compared by instanceof, no TypeScript',
    config: 'langgraph.json',
    graphs: ['agent'],
    talks: [{ graph: 'agent', runs: turns('one', 'two') }],
  },
  cards: {
    kinds: 'ui without its package, pnpm',
    config: 'langgraph.json',
    graphs: ['cards'],
    talks: [
      {
        graph: 'cards',
        runs: [
          [human('one'), { ...says('card 1', 2), ui: [{ name: 'card' }] }],
          [human('two'), { ...says('card 2', 4), ui: { length: 2 } }],
        ],
      },
    ],
    warnings: [/@langchain\/langgraph-ui/, /_INTERNAL_docker_tag/, NO_ENV],
    // The build has told that the bundle is missing.
    builtWarnings: [/_INTERNAL_docker_tag/],
  },
  club: {
    kinds:
      'JavaScript with owner filters, visitors without a name, and an application of Hono with middleware',
    config: 'langgraph.json',
    graphs: ['club'],
    headers: { authorization: 'Bearer token-of-ann' },
    talks: [
      {
        graph: 'club',
        headers: { authorization: 'Bearer token-of-ann' },
        runs: [
          [{ name: 'Eve' }, { guests: ['Eve of ann'] }],
          [{ name: 'Max' }, { guests: ['Eve of ann', 'Max of ann'] }],
        ],
      },
    ],
    more: async (url) => {
      await assertOwners(url, [
        { authorization: 'Bearer token-of-ann' },
        { authorization: 'Bearer token-of-bob' },
      ]);
      const rooms = await fetch(`${url}/club/rooms`, {
        headers: { authorization: 'Bearer token-of-ann' },
      });
      assert.deepEqual(
        [rooms.headers.get('x-club'), await rooms.json()],
        ['open', { rooms: ['red', 'blue'] }],
      );
    },
  },
  both: {
    kinds: 'graphs in both languages below src/',
    config: 'langgraph.json',
    graphs: ['javascript', 'python'],
    talks: [
      {
        graph: 'python',
        runs: [
          [{}, { count: 1 }],
          [{}, { count: 2 }],
        ],
      },
      {
        graph: 'javascript',
        runs: [
          [{}, { count: 10 }],
          [{}, { count: 20 }],
        ],
      },
    ],
  },
  bounded: {
    kinds:
      "LangChain's own middleware for retries and fallbacks, in both languages, under a budget",
    config: 'langgraph.json',
    graphs: BOUNDED,
    talks: BOUNDED.map((graph) => ({ graph, runs: [[human('one'), { messages: { length: 4 } }]] })),
    more: async (url) => {
      for (const graph of BOUNDED) await assertPauses(url, graph);
    },
  },
};

/** The projects that the gate tries, too: they take seconds, and are of three kinds of installations. */
export const FIRST = ['commonjs', 'club', 'fixed'] as const;
