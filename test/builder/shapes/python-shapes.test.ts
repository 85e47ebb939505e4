import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AgentProcess } from '../../kit/agent-server.ts';
import { installTools, installUv, repositoryOf, type Repository } from '../../kit/build-stages.ts';
import { startBuilt } from '../../kit/built-agent.ts';
import { PYTHON_TEMPLATES, TEMPLATE_ENV } from '../../kit/python-templates.ts';
import { startRegistry, type TestRegistry } from '../../kit/registry.ts';

/* Repositories in Python of the shapes that people have, from a clone to an agent that answers. */

let registry: TestRegistry;
let uv: string;

beforeAll(async () => {
  uv = installUv();
  installTools();
  registry = await startRegistry();
});
afterAll(() => registry.stop());

/** Runs a program in a folder of the repository, as its author does, and commits the results. */
function byAuthor(
  repository: Repository,
  folder: string,
  program: string,
  args: readonly string[],
): void {
  execFileSync(program, args, {
    cwd: join(repository.folder, folder),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  repository.commit();
}

type Shape = { name: string; env?: Record<string, string>; serverEnv?: Record<string, string> };

/** Builds a repository, starts the agent from the image's files alone, and asks it. */
async function built<T>(
  repository: Repository,
  shape: Shape,
  ask: (agent: AgentProcess) => Promise<T>,
): Promise<T> {
  const agent = await startBuilt({ registry, repository, ...shape });
  try {
    return await ask(agent);
  } finally {
    await agent.kill();
  }
}

const answerOf = async (agent: AgentProcess, graph = 'agent'): Promise<string> =>
  (
    (await agent.client.runs.wait(null, graph, { input: { question: 'a minute' } })) as {
      answer: string;
    }
  ).answer;

const answered = (
  repository: Repository,
  name: string,
  env: Record<string, string> = {},
): Promise<string> => built(repository, { name, env }, (agent) => answerOf(agent));

const graphOf = (imports: string, answer: string): string => `from typing import TypedDict

from langgraph.graph import END, START, StateGraph

${imports}


class State(TypedDict, total=False):
    question: str
    answer: str


def node(state: State) -> State:
    return {"answer": ${answer}}


graph = StateGraph(State).add_node("node", node).add_edge(START, "node").add_edge("node", END).compile()
`;

const project = (name: string, dependencies: string[], more = ''): string =>
  `[project]\nname = "${name}"\nversion = "1.0.0"\nrequires-python = ">=3.11"\ndependencies = ${JSON.stringify(dependencies)}\n${more}`;
const SETUPTOOLS =
  '\n[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n';
const gxJson = (settings: object = {}): string =>
  JSON.stringify({ dependencies: ['.'], graphs: { agent: './graph.py:graph' }, ...settings });

test('a package with uv.lock, whose graph is a module', async () => {
  const repository = repositoryOf('python-uv');
  byAuthor(repository, '', uv, ['lock', '--quiet']);
  expect(await answered(repository, 'uv')).toBe('uv: a minute has a minute');
});

test('a package without a lock file', async () => {
  expect(await answered(repositoryOf('python-uv'), 'package')).toBe('uv: a minute has a minute');
});

test('a folder that is a module, with requirements and their hashes', async () => {
  const repository = repositoryOf('python-plain');
  const options = ['--quiet', '--generate-hashes', '--output-file', 'requirements.txt'];
  byAuthor(repository, 'my_agent', uv, ['pip', 'compile', 'requirements.in', ...options]);
  expect(await answered(repository, 'plain')).toBe('plain: a minute has 60 seconds');
});

test('a repository of several packages, of which the agent needs one', async () => {
  const repository = repositoryOf(undefined, {
    'libs/words/pyproject.toml': project('words', [], SETUPTOOLS),
    'libs/words/words/__init__.py': 'def said(text: str) -> str:\n    return f"monorepo: {text}"\n',
    'libs/other/pyproject.toml': project('other', ['no-such-package-of-anybody'], SETUPTOOLS),
    'apps/agent/pyproject.toml': project('agent', ['langgraph']),
    'apps/agent/graph.py': graphOf('from words import said', "said(state['question'])"),
    'apps/agent/langgraph.json': gxJson({ dependencies: ['.', '../../libs/words'] }),
  });
  expect(
    await answered(repository, 'monorepo', { GX_CONFIG_PATH: 'apps/agent/langgraph.json' }),
  ).toBe('monorepo: a minute');
});

test('packages with native code, by their wheels', async () => {
  const repository = repositoryOf(undefined, {
    'langgraph.json': gxJson(),
    'requirements.txt': 'langgraph\nnumpy\n',
    'graph.py': graphOf('import numpy', 'f"native: {numpy.arange(4).sum()}"'),
  });
  expect(await answered(repository, 'native')).toBe('native: 6');
});

test('graphs in both languages, each with packages of its own', async () => {
  const repository = repositoryOf('npm', {
    'gx.json': JSON.stringify({ graphs: { agent: './graph.py:graph', other: './graph.js:graph' } }),
    'requirements.txt': 'langgraph\nhumanize\n',
    'graph.py': graphOf('import humanize', `f"python: {humanize.intword(1_000_000)}"`),
  });
  const both = await built(repository, { name: 'mixed' }, async (agent) => [
    await answerOf(agent),
    await answerOf(agent, 'other'),
  ]);
  expect(both).toEqual(['python: 1.0 million', 'npm: a minute has 60000 ms']);
});

test.each(Object.keys(PYTHON_TEMPLATES))('the template %s', async (name) => {
  const repository = repositoryOf(undefined, PYTHON_TEMPLATES[name]);
  expect(
    await built(repository, { name, serverEnv: TEMPLATE_ENV }, (agent) => answerOf(agent)),
  ).toBe(`${name}: a minute`);
});

const PARROT = `from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from managed_deepagents import define_deep_agent


class Parrot(BaseChatModel):
    @property
    def _llm_type(self) -> str:
        return "parrot"

    def bind_tools(self, tools: Any, **kwargs: Any) -> "Parrot":
        return self

    def _generate(self, messages: list[Any], *args: Any, **kwargs: Any) -> ChatResult:
        told = "the instructions" if "speak like a parrot" in messages[0].text else "nobody"
        return ChatResult(generations=[ChatGeneration(message=AIMessage(f"{messages[-1].text}, by {told}"))])


agent = define_deep_agent(name="my-agent", model=Parrot())
`;

/** The blocks of the page, in their order. */
const page = readFileSync('docs/how-to/managed-deep-agents.md', 'utf8');
const blocks = (language: string): string[] =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\n([^]*?)^\`\`\``, 'gm'))].map(
    ([, text = '']) => text,
  );

test('a managed deep agent, compiled and changed as its page says, lets in callers of its backend', async () => {
  const repository = repositoryOf(undefined);
  byAuthor(repository, '', uv, [
    'tool',
    'run',
    '--quiet',
    '--from',
    'managed-deepagents==0.9.5',
    'mda',
    'init',
    'project',
    '--no-sandbox',
  ]);
  const [identity = ''] = blocks('python');
  repository.commit({
    'project/agent.py': PARROT,
    'project/identity.py': identity,
    'project/instructions.md': 'You speak like a parrot.\n',
  });
  const [compile = '', change = ''] = blocks('sh');
  // The environments of this machine have its Python.
  const ours = execFileSync(
    'python3',
    ['-c', 'import sys; print("%d.%d" % sys.version_info[:2])'],
    { encoding: 'utf8' },
  ).trim();
  const commands = `set -e; uvx() { "${uv}" tool run --quiet "$@"; }\n${compile.replace('"3.13"', `"${ours}"`)}\n${change}`;
  byAuthor(repository, 'project', 'bash', ['-c', commands]);
  const env = { GX_CONFIG_PATH: 'project/deploy/langgraph.json' };
  const asked = await built(
    repository,
    { name: 'managed', env, serverEnv: { MDA_INGRESS_SECRET: 'canary' } },
    async ({ url }) => {
      const ask = async (secret: string): Promise<[number, unknown]> => {
        const headers = {
          'content-type': 'application/json',
          'x-mda-ingress-secret': secret,
          'x-mda-user-id': 'ann',
        };
        const body = JSON.stringify({
          assistant_id: 'my-agent',
          input: { messages: [{ role: 'human', content: 'hello' }] },
        });
        const answer = await fetch(`${url}/runs/wait`, { method: 'POST', headers, body });
        return [answer.status, await answer.json()];
      };
      return [await ask('canary'), await ask('guessed')];
    },
  );
  expect(asked).toMatchObject([
    [200, { messages: [{}, { content: 'hello, by the instructions' }] }],
    [401, {}],
  ]);
});
