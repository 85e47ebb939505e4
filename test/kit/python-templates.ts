/*
 * Projects of the same shapes as the templates that the vendor's CLI offers or has offered: their folders, packages,
 * build backends, and keys of langgraph.json. Their graphs need no model.
 */

type Files = Record<string, string>;

const graphOf = (imports: string): string => `from typing import TypedDict

from langgraph.graph import END, START, StateGraph

${imports}

class State(TypedDict, total=False):
    question: str
    answer: str


def node(state: State) -> State:
    return {"answer": f"{NAME}: {state['question']}"}


graph = StateGraph(State).add_node("node", node).add_edge(START, "node").add_edge("node", END).compile()
`;

type Project = { name: string; python: string; packages: string; dependencies?: string[] };

const SETUPTOOLS =
  '[build-system]\nrequires = ["setuptools>=73.0.0", "wheel"]\nbuild-backend = "setuptools.build_meta"\n';

const projectOf = ({ name, python, packages, dependencies = [] }: Project): string => `[project]
name = "${name}"
version = "0.0.1"
description = "Of the shape of a template."
readme = "README.md"
requires-python = "${python}"
dependencies = ${JSON.stringify(['langgraph>=1.0.0', 'python-dotenv>=1.0.1', ...dependencies])}

[project.optional-dependencies]
dev = ["mypy>=1.11.1", "ruff>=0.6.1"]

${SETUPTOOLS}
${packages}
[tool.ruff]
lint.select = ["E", "F"]

[dependency-groups]
dev = ["langgraph-cli[inmem]>=0.4.7", "pytest>=8.3.5"]
`;

/** Packages of setuptools under two names for one folder. */
const twice = (name: string): string => `[tool.setuptools]
packages = ["langgraph.templates.${name}", "${name}"]
[tool.setuptools.package-dir]
"langgraph.templates.${name}" = "src/${name}"
"${name}" = "src/${name}"

[tool.setuptools.package-data]
"*" = ["py.typed"]
`;

/** The same, of which one name alone is a package. */
const once = (name: string): string => twice(name).replace(`"langgraph.templates.${name}", `, '');

const UV_BUILD = `[project]
name = "deep-agent-template"
version = "0.1.0"
readme = "README.md"
requires-python = ">=3.11"
dependencies = ["deepagents>=0.4.0", "langgraph>=1.0.0", "python-dotenv>=1.0.1"]

[build-system]
requires = ["uv_build>=0.8.15,<0.9.0"]
build-backend = "uv_build"

[tool.uv.build-backend]
module-name = "deep_agent"
source-include = ["langgraph.json"]
`;

const json = (settings: object): string => JSON.stringify(settings, undefined, 2);

type Template = {
  name: string;
  folder: string;
  pyproject: string;
  settings?: object;
  imports?: string;
  more?: string;
};

function project({
  name,
  folder,
  pyproject,
  settings = {},
  imports = '',
  more = '',
}: Template): Files {
  const package_ = `src/${folder}`;
  return {
    'README.md': `# ${name}\n`,
    '.gitignore': '.env\n__pycache__/\n',
    'pyproject.toml': pyproject,
    'langgraph.json': json({
      dependencies: ['.'],
      graphs: { agent: `./${package_}/graph.py:graph` },
      env: '.env',
      ...settings,
    }),
    [`${package_}/__init__.py`]: '',
    [`${package_}/prompts.py`]: `NAME = "${name}"\n`,
    [`${package_}/graph.py`]: graphOf(`${imports}from ${folder}.prompts import NAME\n`) + more,
  };
}

const PROVIDERS = ['langchain-openai', 'langchain-anthropic'];

/** What a server of one needs in its environment, as its file .env would say. */
export const TEMPLATE_ENV = { OPENAI_API_KEY: 'nobody' };

/** The files of each, by the name of the template. */
export const PYTHON_TEMPLATES: Readonly<Record<string, Files>> = {
  'react-agent': project({
    name: 'react-agent',
    folder: 'react_agent',
    pyproject: projectOf({
      name: 'react-agent',
      python: '>=3.11,<4.0',
      packages: twice('react_agent'),
    }),
  }),
  'new-langgraph-project': project({
    name: 'new-langgraph-project',
    folder: 'agent',
    pyproject: projectOf({ name: 'agent', python: '>=3.10', packages: twice('agent') }),
    settings: { $schema: 'https://langgra.ph/schema.json', image_distro: 'wolfi' },
  }),
  'retrieval-agent': project({
    name: 'retrieval-agent',
    folder: 'retrieval_graph',
    pyproject: projectOf({
      name: 'retrieval-graph',
      python: '>=3.10',
      packages: twice('retrieval_graph'),
      dependencies: [
        'langchain',
        ...PROVIDERS,
        'langchain-elasticsearch',
        'langchain-pinecone',
        'langchain-mongodb',
        'msgspec>=0.18.6',
      ],
    }),
    imports:
      'import msgspec  # noqa: F401\nfrom langchain_pinecone import PineconeVectorStore  # noqa: F401\n\n',
  }),
  'memory-agent': project({
    name: 'memory-agent',
    folder: 'memory_agent',
    pyproject: projectOf({
      name: 'memory-agent',
      python: '>=3.10',
      packages: once('memory_agent'),
      dependencies: ['langchain>=1.0', 'langchain-core>=1.0', 'langgraph-sdk>=0.2.9', ...PROVIDERS],
    }),
    imports: 'from langchain.chat_models import init_chat_model  # noqa: F401\n\n',
    settings: {
      dockerfile_lines: [],
      python_version: '3.11',
      store: { index: { dims: 1536, embed: 'openai:text-embedding-3-small' } },
    },
  }),
  'data-enrichment': project({
    name: 'data-enrichment',
    folder: 'enrichment_agent',
    pyproject: projectOf({
      name: 'enrichment-agent',
      python: '>=3.10',
      packages: once('enrichment_agent'),
      dependencies: ['langchain', ...PROVIDERS, 'langchain-community', 'tavily-python'],
    }),
    imports: 'from tavily import AsyncTavilyClient  # noqa: F401\n\n',
    settings: { graphs: { agent: 'enrichment_agent.graph:graph' } },
  }),
  'deep-agent': project({
    name: 'deep-agent',
    folder: 'deep_agent',
    pyproject: UV_BUILD,
    imports:
      'from deepagents import create_deep_agent  # noqa: F401\nfrom langchain_core.runnables import RunnableConfig\n\n',
    more: '\n\ndef get_agent(config: RunnableConfig):\n    return graph\n',
    settings: {
      $schema: 'https://langgra.ph/schema.json',
      image_distro: 'wolfi',
      graphs: { agent: 'deep_agent.graph:get_agent' },
    },
  }),
};
