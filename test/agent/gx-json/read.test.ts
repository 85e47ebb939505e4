import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { readGraphsFile } from '../../../src/agent/gx-json/read.ts';
import type { FileSection } from '../../../src/config/gx-json.ts';
import { StartError } from '../../../src/errors.ts';

const folder = mkdtempSync(join(tmpdir(), 'gx-json-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const read = (content: unknown): ReturnType<typeof readGraphsFile> => {
  const file = join(folder, 'gx.json');
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  return readGraphsFile(file);
};
const graphs = { chat: './chat.ts:graph' };

test('a graph is a file and an export, relative to gx.json', () => {
  expect(read({ graphs: { chat: { path: './src/chat.ts:make', description: 'talks' } } }).graphs).toEqual([
    { graphId: 'chat', language: 'javascript', file: join(folder, 'src/chat.ts'), exportName: 'make', description: 'talks' },
  ]);
});

test('graphs in Python are files or modules, beside those in JavaScript', () => {
  const found = read({ graphs: { ...graphs, file: './src/chat.py:graph', module: 'my_agent.chat:make' } }).graphs;
  expect(found.map(({ graphId, language, file, exportName }) => [graphId, language, file, exportName])).toEqual([
    ['chat', 'javascript', join(folder, 'chat.ts'), 'graph'],
    ['file', 'python', join(folder, 'src/chat.py'), 'graph'],
    ['module', 'python', 'my_agent.chat', 'make'],
  ]);
});

test('the name of a module without a dot is refused with the path to write', () => {
  writeFileSync(join(folder, 'lone.py'), '');
  expect(() => read({ graphs: { lone: 'lone:make' } })).toThrow(
    '"graphs.lone" names lone, which means a file of JavaScript. Write "./lone.py:make"',
  );
});

test('handlers of callers are files of either language, or modules of Python', () => {
  const placeOf = (path: string) => {
    const { auth, codeLanguage } = read({ graphs, auth: { path } });
    return [auth!.file.split('/').at(-1), auth!.exportName, codeLanguage];
  };
  expect(placeOf('./auth.ts:auth')).toEqual(['auth.ts', 'auth', 'javascript']);
  expect(placeOf('./auth.py:auth')).toEqual(['auth.py', 'auth', 'python']);
  expect(placeOf('src/auth.py:auth')).toEqual(['auth.py', 'auth', 'python']);
  expect(placeOf('my_agent.auth:auth')).toEqual(['my_agent.auth', 'auth', 'python']);
});

test('what stored states may hold counts for graphs in Python, and any class is for them alone', () => {
  const serde = { allowed_msgpack_modules: [['my_agent.state', 'Profile']], pickle_fallback: true };
  const names = (found: ReturnType<typeof read>): string[] => found.passedOver.map(({ name }) => name);
  expect(names(read({ graphs: { chat: 'my_agent.chat:make' }, checkpointer: { serde } }))).toEqual([]);
  const ofNone = ['checkpointer.serde.allowed_msgpack_modules', 'checkpointer.serde.pickle_fallback'];
  expect(names(read({ graphs, checkpointer: { serde } }))).toEqual(ofNone);
  const any = { checkpointer: { serde: { allowed_json_modules: true, allowed_msgpack_modules: null } } };
  expect(names(read({ graphs: { chat: 'my_agent.chat:make' }, ...any }))).toEqual([]);
  expect(() => read({ graphs, ...any })).toThrow('only graphs in Python can have');
  const none = { checkpointer: { serde: { allowed_json_modules: false, allowed_msgpack_modules: false } } };
  expect(names(read({ graphs: { chat: 'my_agent.chat:make' }, ...none }))).toEqual([]);
  expect(() => read({ graphs, checkpointer: { serde: { allowed_msgpack_modules: ['my_agent.state'] } } })).toThrow(StartError);
});

const OLLAMA = { provider: 'ollama', model: 'nomic-embed-text:latest', folder };
const talk = './talk.py:graph';

test.each([
  ['./src/embed.ts:embed', 'javascript', { file: join(folder, 'src/embed.ts'), exportName: 'embed' }, { talk }],
  ['src/embed.js:embed', 'javascript', { file: join(folder, 'src/embed.js'), exportName: 'embed' }, graphs],
  ['./src/embed.py:embed', 'python', { file: join(folder, 'src/embed.py'), exportName: 'embed' }, graphs],
  ['src/embed.py:embed', 'python', { file: join(folder, 'src/embed.py'), exportName: 'embed' }, graphs],
  ['my.embed:embed', 'python', { file: 'my.embed', exportName: 'embed' }, graphs],
  ['openai:text-embedding-3-small', 'javascript', { provider: 'openai', model: 'text-embedding-3-small', folder }, graphs],
  ['ollama:nomic-embed-text:latest', 'javascript', OLLAMA, { ...graphs, talk }],
  ['ollama:nomic-embed-text:latest', 'python', OLLAMA, { talk }],
])('an embedding is a place in code, or a provider and a model: %s in %s', (embed, language, expected, of) => {
  const { index } = read({ graphs: of, store: { index: { dims: 3, embed } } });
  expect(index).toEqual({ language, embed: expected, dims: 3, fields: ['$'] });
});

test.each([
  ['checkpointer.path', { checkpointer: { path: './saver.py:saver' } }],
  ['store.path', { store: { path: './store.py:store' } }],
])('%s is refused where a graph is in Python, and has no effect elsewhere', (key, section) => {
  expect(read({ graphs, ...section }).passedOver.map(({ name }) => name)).toEqual([key]);
  expect(() => read({ graphs: { ...graphs, talk }, ...section })).toThrow(
    `"${key}" is not served for graphs in Python yet, such as "talk"`,
  );
});

test('env is a map, or a file of lines', () => {
  expect(read({ graphs, env: { A: '1' } }).env).toEqual({ A: '1' });
  writeFileSync(join(folder, 'my.env'), 'B=two words\n');
  expect(read({ graphs, env: 'my.env' }).env).toEqual({ B: 'two words' });
});

test("LangSmith's project is lent where env names none, by any of its names", () => {
  const env = (own: object): unknown => {
    read({ graphs, env: own });
    return readGraphsFile(join(folder, 'gx.json'), [], 'chat').env;
  };
  expect(env({ A: '1' })).toEqual({ A: '1', LANGSMITH_PROJECT: 'chat' });
  for (const name of ['LANGSMITH_PROJECT', 'LANGCHAIN_PROJECT', 'LANGCHAIN_SESSION']) expect(env({ [name]: 'x' })).toEqual({ [name]: 'x' });
});

test('null is what is not there', () => {
  expect(read({ graphs, store: null, http: { cors: null, disable_a2a: true } }).settings).toEqual({ graphs, http: { disable_a2a: true } });
});

test('keys that only other builds read are named, with what to do instead', () => {
  const { passedOver } = read({ graphs, python_version: '3.12', dockerfile_lines: ['RUN x'], node_loader: 'tsx', dependencies: ['.'] });
  expect(passedOver).toEqual([
    { name: 'python_version', instead: expect.stringContaining('GX_PYTHON') as string },
    { name: 'dockerfile_lines', instead: expect.stringContaining('FROM gx-agent-server') as string },
  ]);
});

test('priorities by code are refused where a graph is in Python, and named elsewhere', () => {
  const priority = { path: './priority.py:priority' };
  expect(() => read({ graphs: { agent: './graph.py:graph' }, priority })).toThrow(
    '"priority" is not served for graphs in Python yet, such as "agent": runs begin in the order of their requests',
  );
  expect(read({ graphs, priority }).passedOver.map(({ name }) => name)).toEqual(['priority']);
});

test('checkpointers and stores of the user are named with what is used in their place', () => {
  const { passedOver } = read({
    graphs,
    checkpointer: { path: './saver.ts:saver', uri: 'postgresql://x' },
    store: { path: './store.ts:store' },
  });
  expect(passedOver.map(({ name }) => name).toSorted()).toEqual(['checkpointer.path', 'checkpointer.uri', 'store.path']);
  for (const { instead } of passedOver) expect(instead).toContain('the database of the server');
});

describe('sections that came as variables', () => {
  const sections: FileSection[] = [
    { variable: 'LANGSERVE_GRAPHS', key: 'graphs', value: { other: './src/other.ts:graph' } },
    { variable: 'LANGGRAPH_CHECKPOINTER', key: 'checkpointer', value: { backend: 'default' } },
  ];

  test('make up for a file that is not there, beside the code', () => {
    const found = readGraphsFile(join(folder, 'none', 'gx.json'), sections);
    expect(found.graphs).toMatchObject([{ graphId: 'other', file: resolve('src/other.ts') }]);
    expect(found.settings.checkpointer).toEqual({ backend: 'default' });
  });

  test('count where the file has no such section, and are named where it has', () => {
    writeFileSync(join(folder, 'gx.json'), JSON.stringify({ graphs }));
    const found = readGraphsFile(join(folder, 'gx.json'), sections);
    expect(Object.keys(found.settings.graphs)).toEqual(['chat']);
    expect(found.settings.checkpointer).toEqual({ backend: 'default' });
    expect(found.passedOver).toEqual([{ name: 'LANGSERVE_GRAPHS', instead: expect.stringContaining('"graphs"') as string }]);
  });
});

test('langgraph.json is read where there is no gx.json', () => {
  const other = mkdtempSync(join(tmpdir(), 'gx-json-'));
  writeFileSync(join(other, 'langgraph.json'), JSON.stringify({ graphs }));
  expect(readGraphsFile(join(other, 'gx.json'))).toMatchObject({ path: join(other, 'langgraph.json'), folder: other });
  expect(() => readGraphsFile(join(other, 'mine.json'))).toThrow(/mine\.json can't be read/);
  rmSync(other, { recursive: true });
});

test('what says only that nothing is asked for is read', () => {
  const serde = { allowed_json_modules: [['a', 'b']] };
  const settings = { graphs, checkpointer: { backend: 'default', serde }, http: { enable_custom_route_auth: false, disable_a2a: true } };
  expect(read(settings).settings).toEqual(settings);
});

test.each([
  ['no JSON', '{', 'JSON'],
  ['an unknown key', { graphs, colour: 1 }, 'colour'],
  ['an unknown key inside http', { graphs, http: { colour: 1 } }, 'http.colour'],
  ['no graphs', {}, 'graphs'],
  ['no graph at all', { graphs: {} }, 'graphs'],
  ['a graph without an export', { graphs: { chat: './chat.ts' } }, 'graphs.chat'],
  ['a wrong type', { graphs, node_version: 24 }, 'node_version'],
  ['handlers of callers in Python without a name', { graphs, auth: { path: './auth.py' } }, 'auth.path'],
  [
    'handlers of callers in Python beside an application in JavaScript',
    { graphs, auth: { path: 'my.auth:auth' }, http: { app: './app.ts:app' } },
    '"auth.path" is in Python and "http.app" in JavaScript',
  ],
  [
    'encryption in Python beside handlers of callers in JavaScript',
    { graphs, encryption: { path: './seal.py:encryption' }, auth: { path: './auth.ts:auth' } },
    '"encryption.path" is in Python and "auth.path" in JavaScript',
  ],
  ['an env file that is not there', { graphs, env: 'none.env' }, 'none.env'],
  ['components that are not files', { graphs, ui: { chat: { path: './ui.tsx' } } }, 'ui.chat'],
  ['an unknown key of components', { graphs, ui_config: { shard: [] } }, 'ui_config.shard'],
  ['auth without an export', { graphs, auth: { path: './auth.ts' } }, 'auth.path'],
  ['an unknown key of auth', { graphs, auth: { path: './auth.ts:auth', keys: [] } }, 'auth.keys'],
  ['a cache of callers without headers', { graphs, auth: { path: './auth.ts:auth', cache: {} } }, 'auth.cache'],
  ['another store of checkpoints', { graphs, checkpointer: { backend: 'mongo' } }, 'checkpointer.backend'],
  ['semantic search without an embedding', { graphs, store: { index: { dims: 3 } } }, 'store.index'],
])('a start with %s fails and names it', (_, content, named) => {
  let thrown: unknown;
  try {
    read(content);
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toBeInstanceOf(StartError);
  expect((thrown as Error).message).toContain(named);
});
