import { afterAll, beforeAll, expect, test } from 'vitest';
import { join } from 'node:path';
import { startAgent } from '../../kit/agent-server.ts';
import { installTools, newBuild, repositoryOf, unpackedImage } from '../../kit/build-stages.ts';
import { freshDatabase } from '../../kit/postgres.ts';
import { startRegistry, type TestRegistry } from '../../kit/registry.ts';

/* Repositories of the shapes that people have, from a clone to an agent that answers. */

let registry: TestRegistry;

beforeAll(async () => {
  installTools();
  registry = await startRegistry();
});
afterAll(() => registry.stop());

/** Builds a fixture, starts the agent from the image's files alone, and returns its answer. */
async function answered(fixture: string, env: Record<string, string> = {}): Promise<string> {
  const { url } = repositoryOf(fixture);
  const name = `${registry.host}/shapes/${fixture}`;
  const end = await newBuild({ registry, url, env, image: `shapes/${fixture}` }).all();
  expect(end.output + JSON.stringify(end.told)).toContain('"image"');
  const root = await unpackedImage(registry, String(end.told['image']));
  const { config } = await registry.config(`${name}:1`);
  const setting = (key: string): string =>
    config.Env.find((line) => line.startsWith(`${key}=`))!.slice(key.length + 1);
  const agent = await startAgent({
    database: (await freshDatabase()).uri,
    config: join(root, setting('GX_CONFIG')),
    env: { GX_BUILD_FOLDER: join(root, setting('GX_BUILD_FOLDER')) },
  });
  try {
    const values = await agent.client.runs.wait(null, 'agent', { input: { question: 'a minute' } });
    return (values as { answer: string }).answer;
  } finally {
    await agent.kill();
  }
}

test('npm, with a package for development and an env file that is not in the repository', async () => {
  expect(await answered('npm')).toBe('npm: a minute has 60000 ms');
});

test('a workspace of pnpm, whose agent needs a package of the repository', async () => {
  expect(await answered('pnpm-workspace', { GX_CONFIG_PATH: 'apps/agent/gx.json' })).toBe(
    'pnpm: a minute has 60000 ms',
  );
});

test('yarn, with a langgraph.json', async () => {
  expect(await answered('yarn')).toBe('yarn: a minute has 60000 ms');
});

test('the first yarn', async () => {
  expect(await answered('yarn-classic')).toBe('yarn-classic: a minute has 60000 ms');
});

test('bun, which the image of the builder does not have', async () => {
  expect(await answered('bun')).toBe('bun: a minute has 60000 ms');
});

test('TypeScript that is compiled', async () => {
  expect(await answered('typescript')).toBe('typescript: a minute has 60000 ms');
});

test('native code, compiled for the Node of the image', async () => {
  expect(await answered('native')).toBe('native: A\0MINUTE');
});

test('plain JavaScript without any package, in a folder', async () => {
  expect(await answered('plain', { GX_CONFIG_PATH: 'agents/gx.json' })).toBe(
    'plain: hello a minute',
  );
});
