import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest';
import { failedStart, startAgent, type AgentProcess } from '../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../kit/postgres.ts';

/* The store beside graphs in Python: search by meaning with embeddings of either language, and lives of items. */

const folder = mkdtempSync(path.join(tmpdir(), 'gx-search-'));
const PYTHON = path.resolve('test/python/search/searching.py');
const JAVASCRIPT = path.resolve('test/python/search/searching.ts');

let database: TestDatabase;
let agent: AgentProcess | undefined;

beforeAll(async () => {
  database = await freshDatabase();
});
afterEach(async () => {
  await agent?.kill('SIGKILL');
  agent = undefined;
  await database.sql('truncate gx.store_item cascade');
});
afterAll(async () => {
  await database.drop();
  rmSync(folder, { recursive: true });
});

type Content = { graphs: Record<string, string>; store?: object };

const options = (content: Content) => {
  const config = path.join(folder, 'gx.json');
  writeFileSync(config, JSON.stringify(content));
  return { database: database.uri, config, env: { GX_PYTHON: `${inject('python')}/python` } };
};
const start = async (content: Content): Promise<AgentProcess> =>
  (agent = await startAgent(options(content)));
const index = (embed: string, dims = 3): { index: object } => ({ index: { dims, embed } });

const foundBy = async (
  of: AgentProcess,
  graph: string,
  query: string,
  texts: string[] = [],
): Promise<unknown> =>
  ((await of.client.runs.wait(null, graph, { input: { texts, query } })) as { found?: unknown })
    .found;

/** Asks the server itself. */
const foundAt = async (of: AgentProcess, query: string): Promise<string[]> =>
  (await of.client.store.searchItems(['words'], { query, limit: 2 })).items.map(({ key }) => key);

const python = { py: `${PYTHON}:keeps`, blocks: `${PYTHON}:blocks`, holds: `${PYTHON}:holds` };
const javascript = { js: `${JAVASCRIPT}:keeps` };

describe('an item is found by its meaning', () => {
  test.each([
    ['a function that awaits', `${PYTHON}:embed`],
    ['a function that does not', `${PYTHON}:embed_now`],
    ['an Embeddings object', `${PYTHON}:counting`],
    ['an embedding in JavaScript', `${JAVASCRIPT}:embed`],
  ])('by graphs of both languages and by the server, with %s', async (_, embed) => {
    const of = await start({ graphs: { ...python, ...javascript }, store: index(embed) });
    expect(await foundBy(of, 'py', 'red', ['red', 'green'])).toEqual(['red', 'green']);
    expect(await foundBy(of, 'js', 'blue', ['blue and green'])).toEqual([
      'blue and green',
      expect.any(String),
    ]);
    await of.client.store.putItem(['words'], 'red red green', { text: 'red red green' });
    expect(await foundBy(of, 'blocks', 'red', ['a'])).toEqual(['red', 'red red green']);
    // A node that holds the loop waits for vectors, too.
    expect(await foundBy(of, 'holds', 'blue', ['blue'])).toEqual(['blue', 'blue and green']);
    expect(await foundAt(of, 'green')).toEqual(['green', 'blue and green']);
  });

  test('where only the embedding is in Python, and where only the graphs are', async () => {
    const ofGraphs = await start({ graphs: javascript, store: index(`${PYTHON}:embed`) });
    expect(await foundBy(ofGraphs, 'js', 'red', ['green', 'red'])).toEqual(['red', 'green']);
    expect(await foundAt(ofGraphs, 'green')).toEqual(['green', 'red']);
    await ofGraphs.kill('SIGKILL');
    const ofPython = await start({ graphs: python, store: index(`${JAVASCRIPT}:embed`) });
    expect(await foundBy(ofPython, 'py', 'red')).toEqual(['red', 'green']);
    expect(await foundAt(ofPython, 'green')).toEqual(['green', 'red']);
  });

  test("with a provider's model, which LangChain for Python makes", async () => {
    // The package itself is large, and has no such provider.
    mkdirSync(path.join(folder, 'langchain/embeddings'), { recursive: true });
    writeFileSync(path.join(folder, 'langchain/__init__.py'), '');
    const made = `import sys\nsys.path.append(${JSON.stringify(path.dirname(PYTHON))})\nfrom searching import counting\n`;
    const init =
      'def init_embeddings(name):\n    assert name == "counting:of:words", name\n    return counting\n';
    writeFileSync(path.join(folder, 'langchain/embeddings/__init__.py'), made + init);
    const of = await start({ graphs: python, store: index('counting:of:words') });
    expect(await foundBy(of, 'py', 'red', ['green', 'red'])).toEqual(['red', 'green']);
    await of.kill('SIGKILL');
    const { output } = await failedStart(options({ graphs: python, store: index('other:model') }));
    rmSync(path.join(folder, 'langchain'), { recursive: true });
    expect(output).toContain(
      'store.index.embed: "other:model" can not be loaded: AssertionError: other:model',
    );
  });
});

describe('an embedding that does not work', () => {
  test.each([
    [
      'is no function',
      `${PYTHON}:nothing`,
      `"nothing" of ${PYTHON} is neither a function nor an Embeddings object.`,
    ],
    ['is not there', `${PYTHON}:missing`, `${PYTHON} has no variable named "missing".`],
    ['needs a package', 'openai:text-embedding-3-small', 'needs the package langchain, which'],
  ])('fails the start where it %s', async (_, embed, sentence) => {
    const { code, output } = await failedStart(options({ graphs: python, store: index(embed) }));
    expect([code === 0, output]).toEqual([false, expect.stringContaining(sentence)]);
    expect(output).toContain('store.index.embed');
  });

  test.each([
    [
      'has another length',
      'too_short',
      'store.index: the embedding did not give one vector of 3 numbers for each text.',
    ],
    [
      'raises',
      'raising',
      'store.index.embed: the embedding failed (RuntimeError); the log of the server says why.',
    ],
  ])('refuses the item where its vector %s', async (_, name, sentence) => {
    const of = await start({
      graphs: { ...python, ...javascript },
      store: index(`${PYTHON}:${name}`),
    });
    const refused = of.client.store.putItem(['words'], 'red', { text: 'red' });
    await expect(refused).rejects.toMatchObject({
      status: 500,
      message: expect.stringContaining(sentence) as string,
    });
    for (const graph of ['py', 'js'])
      await expect(foundBy(of, graph, 'red', ['red'])).rejects.toThrow(sentence);
  });
});

test('an item lives as long as its writer says, or else as gx.json does', async () => {
  const of = await start({
    graphs: { lives: `${PYTHON}:lives` },
    store: { ttl: { default_ttl: 60 } },
  });
  const refusal = 'The ttl of an item are minutes above 0 and up to 52596000, not -1.';
  expect(await of.client.runs.wait(null, 'lives', { input: { query: '' } })).toMatchObject({
    found: [refusal],
  });
  const rows = await database.sql<{ key: string; ttl: number | null }>(
    'select key, ttl_minutes::float8 as ttl from gx.store_item order by key',
  );
  expect(rows.map(({ key, ttl }) => [key, ttl])).toEqual([
    ['default', 60],
    ['forever', null],
    ['minutes', 2.5],
  ]);
});
