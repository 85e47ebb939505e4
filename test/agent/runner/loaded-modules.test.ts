import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { startAgent } from '../../kit/agent-server.ts';
import { freshDatabase } from '../../kit/postgres.ts';

type Loaded = { thread: 'server' | 'graphs'; url: string; hasFetch: boolean };

const PREFIX = 'loaded ';

/** Returns the modules that a server and its threads have loaded until they are ready. */
async function loadedByStart(): Promise<Loaded[]> {
  const env = { NODE_OPTIONS: `--import=${resolve('test/agent/runner/list-loaded.ts')}` };
  const database = await freshDatabase();
  const agent = await startAgent({ database: database.uri, env });
  try {
    const lines = agent.output().split('\n');
    return lines
      .filter((line) => line.startsWith(PREFIX))
      .map((line) => JSON.parse(line.slice(PREFIX.length)) as Loaded);
  } finally {
    await agent.kill();
    await database.drop();
  }
}

test('a bundled server and its graph threads open no file of the source one by one, and load fetch when it is used', async () => {
  const loaded = await loadedByStart();
  const ofGraphs = loaded.filter(({ thread }) => thread === 'graphs');
  expect(ofGraphs.some(({ url }) => url.endsWith('/agent/graph-thread/main.js'))).toBe(true);
  expect(ofGraphs.some(({ url }) => url.endsWith('/graphs/chat.ts'))).toBe(true);
  expect(
    loaded.map(({ url }) => url).filter((url) => url.startsWith(`file://${resolve('src')}/`)),
  ).toEqual([]);
  expect(loaded.filter(({ hasFetch }) => hasFetch)).toEqual([]);
});
