import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startAgent } from '../kit/agent-server.ts';
import { installUv, newBuild, repositoryOf, unpackedImage, type Repository } from '../kit/build-stages.ts';
import { freshDatabase } from '../kit/postgres.ts';
import { startRegistry, type TestRegistry } from '../kit/registry.ts';

/* Repositories in Python of the shapes that people have, from a clone to an agent that answers. */

let registry: TestRegistry;
let uv: string;

beforeAll(async () => {
  uv = installUv();
  registry = await startRegistry();
});
afterAll(() => registry.stop());

/** Runs uv in a folder of the repository, as its author does, and commits the results. */
function byAuthor(repository: Repository, folder: string, ...args: string[]): void {
  execFileSync(uv, args, { cwd: join(repository.folder, folder), stdio: ['ignore', 'ignore', 'inherit'] });
  repository.commit();
}

/** Builds a repository, starts the agent from the image's files alone, and returns its answer. */
async function answered({ url }: Repository, name: string): Promise<string> {
  const env = { GX_PYTHON_BASE_IMAGE: registry.base };
  const end = await newBuild({ registry, url, env, image: `shapes/${name}` }).all();
  expect(end.output + JSON.stringify(end.told)).toContain('"image"');
  const root = await unpackedImage(registry, String(end.told['image']));
  const { config } = await registry.config(`${registry.host}/shapes/${name}:1`);
  const setting = (key: string): string => config.Env.find((line) => line.startsWith(`${key}=`))!.slice(key.length + 1);
  const agent = await startAgent({
    database: (await freshDatabase()).uri,
    config: join(root, setting('GX_CONFIG')),
    env: { GX_BUILD_FOLDER: join(root, setting('GX_BUILD_FOLDER')), GX_PYTHON: join(root, setting('GX_PYTHON')) },
  });
  try {
    const values = await agent.client.runs.wait(null, 'agent', { input: { question: 'a minute' } });
    return (values as { answer: string }).answer;
  } finally {
    await agent.kill();
  }
}

test('a package with uv.lock, whose graph is a module', async () => {
  const repository = repositoryOf('python-uv');
  byAuthor(repository, '', 'lock', '--quiet');
  expect(await answered(repository, 'uv')).toBe('uv: a minute has a minute');
});

test('a package without a lock file', async () => {
  expect(await answered(repositoryOf('python-uv'), 'package')).toBe('uv: a minute has a minute');
});

test('a folder that is a module, with requirements and their hashes', async () => {
  const repository = repositoryOf('python-plain');
  const options = ['--quiet', '--generate-hashes', '--output-file', 'requirements.txt'];
  byAuthor(repository, 'my_agent', 'pip', 'compile', 'requirements.in', ...options);
  expect(await answered(repository, 'plain')).toBe('plain: a minute has 60 seconds');
});
