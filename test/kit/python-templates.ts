/*
 * Projects of the same shapes as the templates that the vendor's CLI offers: their folders, their pyproject.toml with
 * its build backend, and the keys of their langgraph.json. Their graphs need no model.
 */

type Files = Record<string, string>;

const graphOf = (answer: string): string => `from typing import TypedDict

from langgraph.graph import END, START, StateGraph

${answer}

class State(TypedDict, total=False):
    question: str
    answer: str


def node(state: State) -> State:
    return {"answer": f"{NAME}: {state['question']}"}


graph = StateGraph(State).add_node("node", node).add_edge(START, "node").add_edge("node", END).compile()
`;

type Project = { name: string; python: string; packages: string };

const SETUPTOOLS = '[build-system]\nrequires = ["setuptools>=73.0.0", "wheel"]\nbuild-backend = "setuptools.build_meta"\n';

const projectOf = ({ name, python, packages }: Project): string => `[project]
name = "${name}"
version = "0.0.1"
description = "Of the shape of a template."
readme = "README.md"
requires-python = "${python}"
dependencies = ["langgraph>=1.0.0", "python-dotenv>=1.0.1"]

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

const json = (settings: object): string => JSON.stringify(settings, undefined, 2);

type Template = { name: string; folder: string; pyproject: string; settings?: object };

function project({ name, folder, pyproject, settings = {} }: Template): Files {
  const package_ = `src/${folder}`;
  return {
    'README.md': `# ${name}\n`,
    '.gitignore': '.env\n__pycache__/\n',
    'pyproject.toml': pyproject,
    'langgraph.json': json({ dependencies: ['.'], graphs: { agent: `./${package_}/graph.py:graph` }, env: '.env', ...settings }),
    [`${package_}/__init__.py`]: '',
    [`${package_}/prompts.py`]: `NAME = "${name}"\n`,
    [`${package_}/graph.py`]: graphOf(`from ${folder}.prompts import NAME\n`),
  };
}

/** The files of each, by the name of the template. */
export const PYTHON_TEMPLATES: Readonly<Record<string, Files>> = {
  'react-agent': project({
    name: 'react-agent',
    folder: 'react_agent',
    pyproject: projectOf({ name: 'react-agent', python: '>=3.11,<4.0', packages: twice('react_agent') }),
  }),
  'new-langgraph-project': project({
    name: 'new-langgraph-project',
    folder: 'agent',
    pyproject: projectOf({ name: 'agent', python: '>=3.10', packages: twice('agent') }),
    settings: { $schema: 'https://langgra.ph/schema.json', image_distro: 'wolfi' },
  }),
};
