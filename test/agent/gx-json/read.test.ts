import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { readGraphsFile } from '../../../src/agent/gx-json/read.ts';
import type { FileSection } from '../../../src/config/agent/gx-json.ts';
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
  expect(
    read({ graphs: { chat: { path: './src/chat.ts:make', description: 'talks' } } }).graphs,
  ).toEqual([
    {
      graphId: 'chat',
      language: 'javascript',
      file: join(folder, 'src/chat.ts'),
      exportName: 'make',
      description: 'talks',
    },
  ]);
});

test('graphs in Python are files or modules, beside those in JavaScript', () => {
  const found = read({
    graphs: { ...graphs, file: './src/chat.py:graph', module: 'my_agent.chat:make' },
  }).graphs;
  expect(
    found.map(({ graphId, language, file, exportName }) => [graphId, language, file, exportName]),
  ).toEqual([
    ['chat', 'javascript', join(folder, 'chat.ts'), 'graph'],
    ['file', 'python', join(folder, 'src/chat.py'), 'graph'],
    ['module', 'python', 'my_agent.chat', 'make'],
  ]);
});

test('a name without a dot is a module or a package of Python, unless a file of JavaScript has it', () => {
  for (const name of [
    'lone.py',
    'pack/__init__.py',
    'lib/deep.py',
    'script.ts',
    'both.py',
    'both.ts',
    'index/index.js',
    'package.json',
  ]) {
    mkdirSync(dirname(join(folder, 'bare', name)), { recursive: true });
    writeFileSync(join(folder, 'bare', name), '{}');
  }
  const bare = (more: object = {}): unknown[] => {
    const names = ['lone', 'pack', 'deep', 'script', 'both', 'index', 'none'];
    const all = {
      ...Object.fromEntries(names.map((name) => [name, `${name}:make`])),
      listed: { path: 'lone:make' },
    };
    writeFileSync(
      join(folder, 'bare', 'gx.json'),
      JSON.stringify({ graphs: all, dependencies: ['./lib'], ...more }),
    );
    return readGraphsFile(join(folder, 'bare', 'gx.json')).graphs.map(({ language, file }) => [
      language,
      file,
    ]);
  };
  const script = (name: string): string[] => ['javascript', join(folder, 'bare', name)];
  const found = [
    ['python', 'lone'],
    ['python', 'pack'],
    ['python', 'deep'],
    script('script.ts'),
    ['python', 'both'],
    script('index/index.js'),
  ];
  expect(bare()).toEqual([...found, script('none'), ['python', 'lone']]);
  // It may be installed where the project is one of Python.
  writeFileSync(join(folder, 'bare', 'pyproject.toml'), '');
  expect(bare()).toEqual([...found, ['python', 'none'], ['python', 'lone']]);
});

test('folders of dependencies are on the path of modules, as their installation puts them there', () => {
  for (const name of [
    'app/lib/a.py',
    'app/pack/__init__.py',
    'project/src/b.py',
    'project/pyproject.toml',
    'app/file.py',
  ]) {
    mkdirSync(dirname(join(folder, 'deps', name)), { recursive: true });
    writeFileSync(join(folder, 'deps', name), '');
  }
  const file = join(folder, 'deps/app/langgraph.json');
  const dependencies = [
    '.',
    './lib',
    'pack',
    '../project',
    './none',
    'langchain_openai',
    './file.py',
  ];
  writeFileSync(file, JSON.stringify({ graphs: { talk: './talk.py:graph' }, dependencies }));
  const at = (name: string): string => join(folder, 'deps', name);
  expect(readGraphsFile(file).importFolders).toEqual([
    at('app/lib'),
    at('app/pack'),
    at('app'),
    at('project'),
    at('project/src'),
  ]);
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
  const names = (found: ReturnType<typeof read>): string[] =>
    found.passedOver.map(({ name }) => name);
  expect(names(read({ graphs: { chat: 'my_agent.chat:make' }, checkpointer: { serde } }))).toEqual(
    [],
  );
  const ofNone = [
    'checkpointer.serde.allowed_msgpack_modules',
    'checkpointer.serde.pickle_fallback',
  ];
  expect(names(read({ graphs, checkpointer: { serde } }))).toEqual(ofNone);
  const any = {
    checkpointer: { serde: { allowed_json_modules: true, allowed_msgpack_modules: null } },
  };
  expect(names(read({ graphs: { chat: 'my_agent.chat:make' }, ...any }))).toEqual([]);
  expect(() => read({ graphs, ...any })).toThrow('only graphs in Python can have');
  const none = {
    checkpointer: { serde: { allowed_json_modules: false, allowed_msgpack_modules: false } },
  };
  expect(names(read({ graphs: { chat: 'my_agent.chat:make' }, ...none }))).toEqual([]);
  expect(() =>
    read({ graphs, checkpointer: { serde: { allowed_msgpack_modules: ['my_agent.state'] } } }),
  ).toThrow(StartError);
});

const OLLAMA = { provider: 'ollama', model: 'nomic-embed-text:latest', folder };
const talk = './talk.py:graph';

test.each([
  [
    './src/embed.ts:embed',
    'javascript',
    { file: join(folder, 'src/embed.ts'), exportName: 'embed' },
    { talk },
  ],
  [
    'src/embed.js:embed',
    'javascript',
    { file: join(folder, 'src/embed.js'), exportName: 'embed' },
    graphs,
  ],
  [
    './src/embed.py:embed',
    'python',
    { file: join(folder, 'src/embed.py'), exportName: 'embed' },
    graphs,
  ],
  [
    'src/embed.py:embed',
    'python',
    { file: join(folder, 'src/embed.py'), exportName: 'embed' },
    graphs,
  ],
  ['my.embed:embed', 'python', { file: 'my.embed', exportName: 'embed' }, graphs],
  [
    'openai:text-embedding-3-small',
    'javascript',
    { provider: 'openai', model: 'text-embedding-3-small', folder },
    graphs,
  ],
  ['ollama:nomic-embed-text:latest', 'javascript', OLLAMA, { ...graphs, talk }],
  ['ollama:nomic-embed-text:latest', 'python', OLLAMA, { talk }],
])(
  'an embedding is a place in code, or a provider and a model: %s in %s',
  (embed, language, expected, of) => {
    const { index } = read({ graphs: of, store: { index: { dims: 3, embed } } });
    expect(index).toEqual({ language, embed: expected, dims: 3, fields: ['$'] });
  },
);

test.each([
  ['checkpointer.path', { checkpointer: { path: './saver.py:saver' } }],
  ['store.path', { store: { path: './store.py:store' } }],
  ['priority', { priority: { path: './priority.py:priority' } }],
])('%s has no effect in either language, and what stands in its place is told', (key, section) => {
  for (const of of [graphs, { talk }])
    expect(read({ graphs: of, ...section }).passedOver.map(({ name }) => name)).toEqual([key]);
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
  for (const name of ['LANGSMITH_PROJECT', 'LANGCHAIN_PROJECT', 'LANGCHAIN_SESSION'])
    expect(env({ [name]: 'x' })).toEqual({ [name]: 'x' });
});

test('null is what is not there', () => {
  expect(read({ graphs, store: null, http: { cors: null, disable_a2a: true } }).settings).toEqual({
    graphs,
    http: { disable_a2a: true },
  });
});

test('keys that only other builds read are named, with what to do instead', () => {
  const { passedOver } = read({
    graphs,
    python_version: '3.12',
    dockerfile_lines: ['RUN x'],
    node_loader: 'tsx',
    dependencies: ['.'],
  });
  expect(passedOver).toEqual([
    { name: 'python_version', instead: expect.stringContaining('GX_PYTHON') as string },
    {
      name: 'dockerfile_lines',
      instead: expect.stringContaining('FROM gx-agent-server') as string,
    },
  ]);
});

test('values that ask for nothing are named by nobody', () => {
  const nothing = {
    dockerfile_lines: [],
    dependencies: [],
    source: {},
    priority: {},
    pip_config_file: '',
    checkpointer: { uri: '' },
  };
  const same = { node_version: '20', keep_pkg_tools: false, image_distro: 'debian' };
  expect(read({ graphs, ...nothing, ...same, pip_installer: 'auto' }).passedOver).toEqual([]);
  expect(
    read({ graphs, node_version: String(Number.parseInt(process.versions.node)) }).passedOver,
  ).toEqual([]);
  expect(read({ graphs, node_version: '99' }).passedOver).toEqual([
    expect.objectContaining({ name: 'node_version' }),
  ]);
  expect(read({ graphs: { talk }, dependencies: ['.', './lib', '../shared'] }).passedOver).toEqual(
    [],
  );
  expect(
    read({ graphs: { talk }, dependencies: ['.', 'langchain_openai'] }).passedOver,
  ).toHaveLength(1);
});

describe('langgraph.json is the file of another tool', () => {
  const other = mkdtempSync(join(tmpdir(), 'gx-json-'));
  afterAll(() => rmSync(other, { recursive: true }));
  const readOther = (content: unknown): ReturnType<typeof readGraphsFile> => {
    writeFileSync(join(other, 'langgraph.json'), JSON.stringify(content));
    return readGraphsFile(join(other, 'gx.json'));
  };
  const told = (content: unknown): Record<string, string> =>
    Object.fromEntries(readOther(content).passedOver.map(({ name, instead }) => [name, instead]));

  test.each([
    ['package_manager', { graphs, package_manager: 'uv' }, 'the lock file'],
    ['recursion_limit', { graphs, recursion_limit: 50 }, 'config.recursion_limit'],
    [
      'graphs.chat.config_schema',
      { graphs: { chat: { path: './chat.ts:graph', config_schema: './c.py:C' } } },
      'context_schema',
    ],
    ['store.provider', { graphs, store: { provider: 'redis' } }, "the server's database"],
    [
      'checkpointer.backend',
      { graphs, checkpointer: { backend: 'mongo', uri: '' } },
      '"mongo" is not used',
    ],
    ['dependancies', { graphs, dependancies: ['.'] }, 'the nearest is "dependencies"'],
    ['http.cros', { graphs, http: { cros: {} } }, 'the nearest is "http.cors"'],
    [
      'http.cors.allow_origin',
      { graphs, http: { cors: { allow_origin: ['*'] } } },
      'the nearest is "http.cors.allow_origins"',
    ],
    [
      'middleware_order',
      { graphs, middleware_order: 'auth_first' },
      'the nearest is "http.middleware_order"',
    ],
    ['colour', { graphs, colour: 1 }, 'there is no such key'],
    ['ui_config.shard', { graphs, ui_config: { shard: [] } }, 'the nearest is "ui_config.shared"'],
  ])('a key that nobody knows changes nothing, and is named: %s', (key, content, sentence) => {
    expect(told(content)).toEqual({ [key]: expect.stringContaining(sentence) as string });
    writeFileSync(join(folder, 'gx.json'), JSON.stringify(content));
    expect(() => readGraphsFile(join(folder, 'gx.json'))).toThrow(`"${key}"`);
  });

  test('wrong values of known keys are faults there, too', () => {
    expect(() => readOther({ graphs, http: { cors: { max_age: 'long' } } })).toThrow(
      '"http.cors.max_age" must be integer',
    );
  });

  test.each([
    ['.env', '.env.full.example'],
    ['.env', 'example.env'],
    ['.env', 'env.sample'],
    ['.env', '.env-template'],
    ['config/agent.env', 'config/agent.env.local.dist'],
  ])('the example of %s may be %s', (env, example) => {
    mkdirSync(join(other, 'config'), { recursive: true });
    for (const name of [example, 'environment.example']) writeFileSync(join(other, name), 'A=1\n');
    expect(told({ graphs, env })).toEqual({
      env: `${env} is not there: cp ${example} ${env}, then fill it in`,
    });
    for (const name of [example, 'environment.example']) rmSync(join(other, name));
  });

  test('an empty name of a file asks for none', () => {
    expect(told({ graphs, env: '' })).toEqual({});
  });

  test('a file of variables that is not there is done without, and its example is named', () => {
    expect(told({ graphs, env: '.env' })).toEqual({
      env: '.env is not there: make it, or set its variables',
    });
    writeFileSync(join(other, '.env.example'), 'A=1\n');
    expect(told({ graphs, env: '.env' })).toEqual({
      env: '.env is not there: cp .env.example .env, then fill it in',
    });
    mkdirSync(join(other, 'folder.env'));
    expect(() => told({ graphs, env: 'folder.env' })).toThrow(
      `"env" names folder.env, which can't be read: it must be a file`,
    );
  });
});

test('checkpointers and stores of the user are named with what is used in their place', () => {
  const { passedOver } = read({
    graphs,
    checkpointer: { path: './saver.ts:saver', uri: 'postgresql://x' },
    store: { path: './store.ts:store' },
  });
  expect(passedOver.map(({ name }) => name).toSorted()).toEqual([
    'checkpointer.path',
    'checkpointer.uri',
    'store.path',
  ]);
  for (const { instead } of passedOver) expect(instead).toContain("the server's database");
});

describe('sections that came as variables', () => {
  const sections: FileSection[] = [
    {
      variable: 'LANGSERVE_GRAPHS',
      key: 'graphs',
      value: { other: './src/other.ts:graph' },
      passedOver: [],
    },
    {
      variable: 'LANGGRAPH_CHECKPOINTER',
      key: 'checkpointer',
      value: { backend: 'default' },
      passedOver: [],
    },
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
    expect(found.passedOver).toEqual([
      { name: 'LANGSERVE_GRAPHS', instead: expect.stringContaining('"graphs"') as string },
    ]);
  });
});

test('langgraph.json is read where there is no gx.json', () => {
  const other = mkdtempSync(join(tmpdir(), 'gx-json-'));
  writeFileSync(join(other, 'langgraph.json'), JSON.stringify({ graphs }));
  expect(readGraphsFile(join(other, 'gx.json'))).toMatchObject({
    path: join(other, 'langgraph.json'),
    folder: other,
  });
  expect(() => readGraphsFile(join(other, 'mine.json'))).toThrow(/There is no file .*mine\.json/);
  rmSync(other, { recursive: true });
});

test('what says only that nothing is asked for is read', () => {
  const serde = { allowed_json_modules: [['a', 'b']] };
  const settings = {
    graphs,
    checkpointer: { backend: 'default', serde },
    http: { enable_custom_route_auth: false, disable_a2a: true },
  };
  expect(read(settings).settings).toEqual(settings);
});

test.each([
  ['no JSON', '{', 'JSON'],
  ['an unknown key', { graphs, colour: 1 }, '"colour" is not a key of this file: remove it'],
  [
    'a key that is almost one',
    { graphs, htpp: {} },
    '"htpp" is not a key of this file; the nearest is "http"',
  ],
  ['an unknown key inside http', { graphs, http: { colour: 1 } }, 'http.colour'],
  ['no graphs', {}, '"graphs" is missing: name each graph'],
  ['no graph at all', { graphs: {} }, 'graphs'],
  [
    'a graph without an export',
    { graphs: { chat: './chat.ts' } },
    '"graphs.chat" must name a file or a module',
  ],
  ['a wrong type', { graphs, node_version: 24 }, 'node_version'],
  [
    'handlers of callers in Python without a name',
    { graphs, auth: { path: './auth.py' } },
    'auth.path',
  ],
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
  [
    'an env file that is not there',
    { graphs, env: 'none.env' },
    '"env" names none.env, which is not there: make it',
  ],
  ['components that are not files', { graphs, ui: { chat: { path: './ui.tsx' } } }, 'ui.chat'],
  ['an unknown key of components', { graphs, ui_config: { shard: [] } }, 'ui_config.shard'],
  ['auth without an export', { graphs, auth: { path: './auth.ts' } }, 'auth.path'],
  ['an unknown key of auth', { graphs, auth: { path: './auth.ts:auth', keys: [] } }, 'auth.keys'],
  [
    'a cache of callers without headers',
    { graphs, auth: { path: './auth.ts:auth', cache: {} } },
    'auth.cache',
  ],
  [
    'another store of checkpoints',
    { graphs, checkpointer: { backend: 'mongo' } },
    'checkpointer.backend',
  ],
  [
    'semantic search without an embedding',
    { graphs, store: { index: { dims: 3 } } },
    'store.index',
  ],
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
