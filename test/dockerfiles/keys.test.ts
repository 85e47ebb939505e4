import { afterAll, beforeAll, expect, test } from 'vitest';
import { installLanggraphCli } from '../kit/langgraph-cli.ts';
import {
  baseImage,
  imageOf,
  inContainer,
  projectOf,
  removeBaseImage,
  removeProject,
} from './containers.ts';

/* Dockerfiles that the vendor's CLI writes for the keys of langgraph.json: each reaches our image in its own way. */

const TAGS = ['3.13'];

beforeAll(async () => {
  await installLanggraphCli();
  await baseImage(TAGS);
});
afterAll(() => removeBaseImage(TAGS));

type Files = Record<string, string>;
type Container = Parameters<Parameters<typeof inContainer>[2]>[0];

async function inside<T>(
  name: string,
  files: Files,
  ask: (container: Container) => Promise<T>,
  at = '',
): Promise<T> {
  const project = await projectOf(name, files, at);
  try {
    return await inContainer(await imageOf(project), {}, ask);
  } finally {
    removeProject(project);
  }
}

const langgraphJson = (settings: object): string =>
  JSON.stringify({ python_version: '3.13', dependencies: ['.'], ...settings });

const graphOf = (imports: string, answer: string): string => `import os
from typing import TypedDict

from langgraph.graph import END, START, StateGraph

${imports}


class State(TypedDict, total=False):
    answer: str


def node(state: State) -> State:
    return {"answer": ${answer}}


graph = StateGraph(State).add_node("node", node).add_edge(START, "node").add_edge("node", END).compile()
`;

const pyproject = (name: string, dependencies: string[], more = ''): string =>
  `[project]\nname = "${name}"\nversion = "1.0.0"\nrequires-python = ">=3.11"\ndependencies = ${JSON.stringify(dependencies)}\n${more}`;
const SETUPTOOLS =
  '\n[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n';

const AUTH = `from langgraph_sdk import Auth

auth = Auth()


@auth.authenticate
async def authenticate(headers: dict[bytes, bytes]) -> str:
    if headers.get(b"authorization") != b"Bearer canary":
        raise Auth.exceptions.HTTPException(status_code=401, detail="who?")
    return "ann"
`;
const APP = `from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route


async def hello(request):
    return PlainTextResponse("hello")


app = Starlette(routes=[Route("/hello", hello)])
`;
const EMBED =
  'def embed(texts: list[str]) -> list[list[float]]:\n    return [[float(len(text)), 1.0] for text in texts]\n';

test('a folder that is no package: requirements, lines as root, an index, parts beside the graph, and a server that is not root', async () => {
  const files = {
    'langgraph.json': langgraphJson({
      graphs: { agent: { path: './my_agent/graph.py:graph', description: 'of a folder' } },
      dependencies: ['./my_agent', 'humanize'],
      dockerfile_lines: ['RUN id --user > /from-lines && pip --version'],
      pip_config_file: './pip.conf',
      keep_pkg_tools: ['setuptools'],
      env: { GREETING: 'of the deployment' },
      auth: { path: './my_agent/auth.py:auth' },
      http: { app: './my_agent/app.py:app' },
      checkpointer: { ttl: { default_ttl: 60 } },
    }),
    'pip.conf': '[global]\ntimeout = 60\n',
    'my_agent/__init__.py': '',
    'my_agent/requirements.txt': 'langgraph\nroman-numerals\n',
    'my_agent/graph.py': graphOf(
      'import humanize\nimport roman_numerals\nimport setuptools',
      '" ".join([open("/from-lines").read().strip(), humanize.intword(1_000_000), roman_numerals.__name__, setuptools.__name__, str(os.getuid())])',
    ),
    'my_agent/auth.py': AUTH,
    'my_agent/app.py': APP,
  };
  const found = await inside('folder', files, async ({ url }) => {
    const ask = (headers: Record<string, string>) =>
      fetch(`${url}/runs/wait`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ assistant_id: 'agent', input: {} }),
      });
    const hello = await fetch(`${url}/hello`);
    return [
      (await ask({})).status,
      await (await ask({ authorization: 'Bearer canary' })).json(),
      await hello.text(),
    ];
  });
  expect(found).toEqual([
    401,
    { answer: '0 1.0 million roman_numerals setuptools 10001' },
    'hello',
  ]);
});

test('pip as the installer, a function that embeds, and classes in states', async () => {
  const files = {
    'langgraph.json': langgraphJson({
      graphs: { agent: './src/own_agent/graph.py:graph' },
      pip_installer: 'pip',
      store: { index: { dims: 2, embed: './src/own_agent/embed.py:embed' } },
      checkpointer: { serde: { pickle_fallback: false } },
    }),
    'pyproject.toml': pyproject(
      'own-agent',
      ['humanize'],
      `${SETUPTOOLS}\n[tool.setuptools.packages.find]\nwhere = ["src"]\n`,
    ),
    'src/own_agent/__init__.py': '',
    'src/own_agent/embed.py': EMBED,
    'src/own_agent/graph.py': graphOf('import humanize', 'humanize.intword(1_000_000)'),
  };
  const found = await inside('pip', files, async ({ client }) => {
    await client.store.putItem(['words'], 'long', { text: 'a long text' });
    const { items } = await client.store.searchItems(['words'], { query: 'another text' });
    return [await client.runs.wait(null, 'agent', { input: {} }), items.map(({ key }) => key)];
  });
  expect(found).toEqual([{ answer: '1.0 million' }, ['long']]);
});

test('a package of the repository beside the folder of langgraph.json', async () => {
  const files = {
    'libs/words/pyproject.toml': pyproject('words', [], SETUPTOOLS),
    'libs/words/words/__init__.py': 'TEXT = "of a package beside"\n',
    'apps/agent/pyproject.toml': pyproject(
      'agent',
      ['langgraph'],
      `${SETUPTOOLS}\n[tool.setuptools]\npy-modules = ["graph"]\n`,
    ),
    'apps/agent/graph.py': graphOf('from words import TEXT', 'TEXT'),
    'apps/agent/langgraph.json': langgraphJson({
      graphs: { agent: './graph.py:graph' },
      dependencies: ['.', '../../libs/words'],
    }),
  };
  const ask = ({ client }: Container) => client.runs.wait(null, 'agent', { input: {} });
  expect(await inside('monorepo', files, ask, 'apps/agent')).toEqual({
    answer: 'of a package beside',
  });
});

test('components of ui are bundled as the image is built', async () => {
  const files = {
    'langgraph.json': langgraphJson({
      graphs: { agent: './graph.py:graph' },
      ui: { agent: './ui.tsx' },
      node_version: '20',
    }),
    'package.json': JSON.stringify({
      name: 'ui',
      private: true,
      type: 'module',
      dependencies: { ms: '2.1.3', '@langchain/langgraph-ui': '1.5.1' },
    }),
    'ui.tsx': "import ms from 'ms';\nexport default { clock: () => ms('1m') };\n",
    'graph.py': graphOf('', '"of a folder"'),
  };
  const bundle = await inside('ui', files, async ({ url, client }) => {
    await client.runs.wait(null, 'agent', { input: {} });
    return (await fetch(`${url}/ui/agent/entrypoint.js`)).text();
  });
  expect(bundle).toContain('clock');
});

test.each([
  ['priority', { priority: { path: './graph.py:priority' } }],
  ['checkpointer.path', { checkpointer: { path: './graph.py:saver' } }],
])('%s stops the start by its name', async (key, settings) => {
  const files = {
    'langgraph.json': langgraphJson({ graphs: { agent: './graph.py:graph' }, ...settings }),
    'graph.py': graphOf('', '"nothing"'),
  };
  expect(await inside('refused', files, ({ output }) => Promise.resolve(output()))).toContain(
    `"${key}" is not served`,
  );
});
