import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { failedStart } from '../kit/agent-server.ts';
import { startDev, type DevServer } from '../kit/dev-server.ts';
import { freshDatabase, type TestDatabase } from '../kit/postgres.ts';

/*
 * Graphs that can't be loaded: each is one sentence with the file and the line of the user's code. A developer's server
 * serves the others, and a deployment does not start.
 */

const STATE = `from langgraph.graph import START, StateGraph
from typing_extensions import TypedDict
class State(TypedDict, total=False):
    answer: str
`;
const NEWER = String.raw` \(LangGraph \d+\.\d+\.\d+ is installed; the code may need a newer one\)`;

type Bad = { file: string; line: number; words: string };

const BAD: Record<string, Bad> = {
  'a package that is not installed': {
    file: 'import os\nimport langchain_of_nobody\n',
    line: 2,
    words: "ModuleNotFoundError: No module named 'langchain_of_nobody'",
  },
  'a name that a module does not have': {
    file: 'from json import nothing\n',
    line: 1,
    words: String.raw`ImportError: cannot import name 'nothing' from 'json' \(.*\)`,
  },
  'a syntax that Python does not know': {
    file: 'x = 1\ndef graph(:\n',
    line: 2,
    words: 'SyntaxError: .*',
  },
  'an error of its own': {
    file: '\nraise RuntimeError("no\\nway")\n',
    line: 2,
    words: 'RuntimeError: no way',
  },
  'an error in a library that it calls': {
    file: 'from langchain_core.messages import AIMessage\n\nAIMessage(content=object())\n',
    line: 3,
    words: 'ValidationError: .*',
  },
  'its own end': { file: 'import sys\nsys.exit(3)\n', line: 2, words: 'SystemExit: 3' },
  'a number in the place of a graph': {
    file: 'graph = None\nif True:\n    graph = 7\n',
    line: 3,
    words: String.raw`a value of type int is neither a graph, nor a graph builder, nor a function that makes one\.`,
  },
  'a function with too many parameters': {
    file: '\ndef graph(one, two, three):\n    return None\n',
    line: 2,
    words: 'may take a config and a ServerRuntime, and nothing more; it takes one, two, three.',
  },
  'a builder that can not be compiled': {
    file: `${STATE}graph = StateGraph(State).add_node("answer", lambda state: {"answer": "a"})\n`,
    line: 5,
    words: 'ValueError: Graph must have an entrypoint.*',
  },
  'a module of a newer LangGraph': {
    file: 'from langgraph.of_tomorrow import Graph\n',
    line: 1,
    words: `ModuleNotFoundError: No module named 'langgraph.of_tomorrow'${NEWER}`,
  },
  'a name of a newer LangGraph': {
    file: 'from langgraph.types import Tomorrow\n',
    line: 1,
    words: String.raw`ImportError: cannot import name 'Tomorrow' from 'langgraph.types' \(.*\)${NEWER}`,
  },
  'a keyword of a newer LangGraph': {
    file: `${STATE}graph = StateGraph(State).compile(of_tomorrow=True)\n`,
    line: 5,
    words: String.raw`TypeError: StateGraph.compile\(\) got an unexpected keyword argument 'of_tomorrow'${NEWER}`,
  },
  'a method of a newer LangGraph': {
    file: `${STATE}graph = StateGraph(State).add_tomorrow()\n`,
    line: 5,
    words: `AttributeError: 'StateGraph' object has no attribute 'add_tomorrow'${NEWER}`,
  },
};

const folder = mkdtempSync(path.join(tmpdir(), 'gx-bad-graphs-'));
const config = path.join(folder, 'gx.json');
const idOf = (what: string): string => what.replaceAll(' ', '_');
const graphs = Object.fromEntries(
  Object.keys(BAD).map((what) => [idOf(what), `./${idOf(what)}.py:graph`]),
);
const env = { GX_PYTHON: `${inject('python')}/python` };
/** Returns how the sentence about a graph reads. A function is named in its midst. */
const sentenceOf = (what: string, { line, words }: Bad): RegExp =>
  new RegExp(
    `^Graph "${idOf(what)}": (its function at )?${folder}/${idOf(what)}\\.py:${line}:? ${words}$`,
  );

for (const [what, { file }] of Object.entries(BAD))
  writeFileSync(path.join(folder, `${idOf(what)}.py`), file);
writeFileSync(
  path.join(folder, 'good.py'),
  `${STATE}graph = StateGraph(State).add_node("answer", lambda _: {"answer": "a"})
graph.add_edge(START, "answer")\n`,
);

afterAll(() => rmSync(folder, { recursive: true }));

describe('a server of a developer', () => {
  const errors = new Map<string, string>();
  let running: DevServer;
  beforeAll(async () => {
    const more = { missing: './good.py:grpah', nowhere: 'no.such.module:graph' };
    writeFileSync(
      config,
      JSON.stringify({ graphs: { ...graphs, ...more, good: './good.py:graph' } }),
    );
    running = await startDev({ args: ['--config', config], env });
    type Info = { graph_errors: { graph_id: string; error: string }[] };
    const { graph_errors } = (await (await fetch(`${running.url}/info`)).json()) as Info;
    for (const { graph_id, error } of graph_errors) errors.set(graph_id, error);
  });
  afterAll(() => running.stop());

  test.each(Object.entries(BAD))('names %s, with the file and the line', (what, bad) => {
    expect(errors.get(idOf(what))).toMatch(sentenceOf(what, bad));
  });

  test('names a variable and a module that are not there', () => {
    expect(errors.get('missing')).toBe(
      `Graph "missing": ${folder}/good.py has no variable named "grpah".`,
    );
    expect(errors.get('nowhere')).toBe(
      "Graph \"nowhere\": no.such.module can't be loaded: ModuleNotFoundError: No module named 'no'",
    );
  });

  test('serves the graph beside them', async () => {
    expect(await running.client.runs.wait(null, 'good', { input: {} })).toEqual({ answer: 'a' });
    expect(errors.has('good')).toBe(false);
  });
});

describe('a deployment', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await freshDatabase();
  });
  afterAll(() => database.drop());

  // A revision that fails shows the last fifty lines of its pod.
  test.each(Object.entries(BAD))('ends its start with the sentence about %s', async (what, bad) => {
    const own = path.join(folder, `${idOf(what)}.json`);
    writeFileSync(
      own,
      JSON.stringify({ graphs: { [idOf(what)]: graphs[idOf(what)], good: './good.py:graph' } }),
    );
    const { code, output } = await failedStart({ database: database.uri, config: own, env });
    const last = output.trim().split('\n').slice(-50).join('\n');
    expect([code === 0, last]).toEqual([
      false,
      expect.stringMatching(sentenceOf(what, bad).source.replace(/^\^|\$$/g, '')),
    ]);
  });

  test('ends its start with one sentence where packages do not fit together', async () => {
    for (const [module, text] of [
      ['', ''],
      ['graph', ''],
      ['errors', 'class A:\n    x: int = 1 + "a"\n'],
    ] as const) {
      const place = path.join(folder, 'broken', 'langgraph', module);
      mkdirSync(place, { recursive: true });
      writeFileSync(path.join(place, '__init__.py'), text);
    }
    const own = path.join(folder, 'fitting.json');
    writeFileSync(own, JSON.stringify({ graphs: { good: './good.py:graph' } }));
    const { code, output } = await failedStart({
      database: database.uri,
      config: own,
      env: { ...env, PYTHONPATH: path.join(folder, 'broken') },
    });
    expect([code === 0, output]).toEqual([
      false,
      expect.stringMatching(
        /The Python of the graphs \(\S+\) can't import its own packages: \S+errors\/__init__\.py:2: TypeError: .* Install versions that fit together\./,
      ),
    ]);
  });
});
