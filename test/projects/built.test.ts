import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readGraphsFile } from '../../src/agent/gx-json/read.ts';
import {
  readDotEnvOfJavascript,
  readDotEnvOfPython,
  toEnvRecord,
} from '../../src/schema/dot-env.ts';
import { startBuilt } from '../kit/built-agent.ts';
import { startRegistry, type TestRegistry } from '../kit/registry.ts';
import { expectedSight } from './expected.ts';
import { startModels, type ModelStandIn } from './model-stand-in.ts';
import { commitProject, seeServed, type Sight } from './shelf.ts';
import { NO_ENV, SHELF } from './table.ts';

/* Each project of the shelf, unchanged: built from its repository, and served from the files of the image alone. */

let registry: TestRegistry;
let models: ModelStandIn;

beforeAll(async () => {
  [registry, models] = await Promise.all([startRegistry(), startModels()]);
});
afterAll(() => Promise.all([registry.stop(), models.stop()]));

/** Returns the variables of a deployment into whose form its owner has pasted the file that git leaves out. */
function variablesOf(name: string): Record<string, string> {
  const { files: { '.env': text } = {}, config } = SHELF[name]!;
  if (text === undefined) return {};
  const { hasPython } = readGraphsFile(join('test/projects/shelf', name, config));
  return toEnvRecord(
    hasPython ? readDotEnvOfPython(text, () => undefined) : readDotEnvOfJavascript(text),
  );
}

async function seeBuilt(name: string): Promise<Sight> {
  const project = SHELF[name]!;
  const serverEnv = { ...models.env, ...variablesOf(name) };
  const wish = {
    registry,
    repository: await commitProject(name),
    name,
    env: { GX_CONFIG_PATH: project.config },
    serverEnv,
  };
  const agent = await startBuilt(wish).catch((error: Error) => ({ refusal: error.message }));
  if ('refusal' in agent) return agent;
  try {
    const expected =
      project.builtWarnings ?? project.warnings?.filter((warning) => warning !== NO_ENV);
    return await seeServed(project, agent, expected);
  } finally {
    await agent.kill();
  }
}

test.each(Object.entries(SHELF).map(([name, project]) => ({ name, project })))(
  '$name: $project.kinds',
  async ({ name, project }) => {
    expect(await seeBuilt(name)).toMatchObject(
      expectedSight(project, project.buildRefusal ?? project.refusal),
    );
  },
);
