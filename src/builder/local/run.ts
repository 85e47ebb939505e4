import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import type { Env } from '../../config/env.ts';
import { imageBuildConfig, type ImageBuildConfig } from '../../config/image-build.ts';
import { StartError } from '../../errors.ts';
import { writeRecipe } from '../buildkit/recipe.ts';
import { build } from '../build.ts';
import { buildPlanOf, onOwnBase } from '../packages/plan.ts';
import { push } from '../push.ts';
import type { Restored } from '../restore.ts';
import { say } from '../progress.ts';
import { keepJson, keptIn, placesIn } from '../work.ts';
import { buildByDockerfile } from './by-dockerfile.ts';
import { copyContext } from './context.ts';
import { LOCAL_HELP, localOptions, type LocalOptions } from './options.ts';
import { engineHere, loadInto, writeLayout } from './outputs.ts';

/** Makes an agent's image from a folder of this machine. Only the beginning and the end differ from the cluster's. */
export async function buildHere(args: string[], env: Env, signal: AbortSignal): Promise<void> {
  if (args.includes('--help') || args.includes('-h')) return void process.stdout.write(LOCAL_HELP);
  const options = localOptions(args);
  const own = Object.fromEntries(Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined));
  const work = mkdtempSync(path.join(tmpdir(), 'gx-build-'));
  try {
    mkdirSync(placesIn(work).source, { recursive: true });
    const { configPath, cloned } = await copyContext(options.config, work, own);
    const given = settingsOf(options, { env: own, work, configPath });
    keepJson(keptIn(given).commit, cloned);
    const config = onOwnBase(given);
    const base = config.baseImage ?? options.base.javascript;
    const dockerfile = writeRecipe(config, base);
    if (dockerfile !== undefined) return await buildByDockerfile(dockerfile, { config, options, base, env: own });
    const to = options.to ?? { engine: await engineHere(own) };
    const { plan } = buildPlanOf(config, base);
    const decided: Restored = { plan };
    keepJson(keptIn(config).plan, decided);
    await build(config, signal);
    const made = { config, restored: decided, cloned, tag: options.tag };
    if (to === 'registry') say(`pushed ${(await push(config, signal)).image}`);
    else if ('folder' in to) await writeLayout(path.resolve(to.folder), made, signal);
    else await loadInto(to.engine, made, own);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Settings of the builder that hold on this machine, too. */
const PASSED = ['GX_NPM_REGISTRY', 'GX_PYPI_INDEX'] as const;

type Here = { env: Record<string, string>; work: string; configPath: string };

function settingsOf(options: LocalOptions, { env, work, configPath }: Here): ImageBuildConfig {
  const { tools } = imageBuildConfig({});
  const credentials = env['DOCKER_CONFIG'] ?? path.join(homedir(), '.docker');
  const config = imageBuildConfig({
    ...Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('GX_'))),
    ...Object.fromEntries(PASSED.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]]))),
    GX_WORK_FOLDER: work,
    GX_CONFIG_PATH: configPath,
    GX_BASE_IMAGE: options.base.javascript,
    GX_PYTHON_BASE_IMAGE: options.base.python,
    GX_IMAGE: options.tag,
    GX_REGISTRY_CREDENTIALS: credentials,
    GX_REGISTRY_INSECURE: String(options.insecure),
    GX_BUILDER_TOOLS: env['GX_BUILDER_TOOLS'] ?? tools,
    ...(options.installCommand && { GX_INSTALL_COMMAND: options.installCommand }),
    ...(options.buildCommand && { GX_BUILD_COMMAND: options.buildCommand }),
  });
  if (config.configPath.startsWith('..')) throw new StartError('build-agent: --config leads out of its repository.');
  return config;
}
