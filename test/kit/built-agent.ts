import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startAgent, type AgentProcess } from './agent-server.ts';
import {
  installTools,
  installUv,
  newBuild,
  unpackedImage,
  type Repository,
} from './build-stages.ts';
import { freshDatabase } from './postgres.ts';
import type { TestRegistry } from './registry.ts';

type BuiltAgent = {
  registry: TestRegistry;
  repository: Repository;
  name: string;
  /** Settings of the build. */
  env?: Record<string, string>;
  serverEnv?: Record<string, string>;
};

/** Builds a repository and starts the agent from the image's files alone. Throws with the build's words if it fails. */
export async function startBuilt({
  registry,
  repository,
  name,
  env = {},
  serverEnv = {},
}: BuiltAgent): Promise<AgentProcess> {
  installUv();
  installTools();
  const base = { GX_PYTHON_BASE_IMAGE: registry.base };
  const end = await newBuild({
    registry,
    url: repository.url,
    env: { ...base, ...env },
    image: `shapes/${name}`,
  }).all();
  const image = end.told['image'];
  if (typeof image !== 'string') throw new Error(end.output + JSON.stringify(end.told));
  const root = await unpackedImage(registry, image);
  leadInto(root);
  const { config } = await registry.config(`${registry.host}/shapes/${name}:1`);
  const settings = Object.fromEntries(
    config.Env.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  );
  // Places of the image lie in a folder here.
  const places = ['GX_BUILD_FOLDER', 'GX_PYTHON'].flatMap((key) =>
    settings[key] === undefined ? [] : [[key, join(root, settings[key])]],
  );
  return await startAgent({
    database: (await freshDatabase()).uri,
    config: join(root, settings['GX_CONFIG'] ?? ''),
    env: { ...(Object.fromEntries(places) as Record<string, string>), ...serverEnv },
  });
}

/** Editable packages of setuptools name places of the image in full. */
function leadInto(root: string): void {
  const site = join(root, 'agent/.venv/lib/python3.*/site-packages');
  for (const file of globSync(join(site, '__editable__*.py')))
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll("'/agent", `'${root}/agent`));
  for (const file of globSync(join(site, '__pycache__/__editable__*'))) rmSync(file);
}
