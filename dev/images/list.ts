import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { decideLanguage } from '../../src/schema/agent/code-place.ts';
import { UsageError } from '../errors.ts';
import { hashContent } from './key.ts';
import { NO_REGISTRY } from './registry.ts';

/** Base images that only some images need, by their build argument. */
export type BaseName = 'BUILDKIT';

/** One image: its target, and the files that decide whether it has changed. Paths are relative to the checkout. */
export type Image = {
  name: string;
  dockerfile: string;
  target?: string;
  context: string;
  inputs: readonly string[];
  /** True if a change of its files changes its first steps, so that to keep the result of each step is lost work. */
  isWhole?: true;
  /** A further image that the Dockerfile takes as a build argument. */
  base?: BaseName;
  /** Images that the Dockerfile names by a build argument, or that are stages of the same Dockerfile. */
  parents?: readonly Parent[];
};
type Parent = { image: Image } & ({ argument: string } | { stage: string });

export const root = join(import.meta.dirname, '..', '..');

const buildProduct = (
  image: Pick<Image, 'name' | 'inputs' | 'isWhole' | 'parents' | 'base'>,
): Image => ({
  dockerfile: 'Dockerfile',
  context: '.',
  target: image.name.replace(/^gx-((\w+-)?app|modules)$/, '$1'),
  ...image,
});

/** The builder takes its uv from there. */
const PYTHON_LOCK = 'python/image/requirements.txt';

// These stages are images of their own, because finding them unchanged would take reading all packages each time.
const modules = buildProduct({
  name: 'gx-modules',
  inputs: ['Dockerfile', 'package.json', 'package-lock.json', '.npmrc'],
  isWhole: true,
});
const withModules = { stage: 'modules', image: modules };
const app = buildProduct({
  name: 'gx-app',
  inputs: [...modules.inputs, 'dev/images/sbom'],
  isWhole: true,
  parents: [withModules],
});
const onApp = { stage: 'app', image: app };
const clusterApp = buildProduct({
  name: 'gx-cluster-app',
  inputs: app.inputs,
  isWhole: true,
  parents: [withModules, onApp],
});

const postgres = buildProduct({
  name: 'gx-postgres',
  inputs: ['Dockerfile', 'dev/images/postgres', 'dev/images/sbom'],
  isWhole: true,
});
const valkey = buildProduct({
  name: 'gx-valkey',
  inputs: ['Dockerfile', 'dev/images/valkey', 'dev/images/sbom'],
  isWhole: true,
});
const LATER_POSTGRES = 'dev/images/later-postgres.Dockerfile';
const laterPostgres: Image = {
  name: 'gx-postgres-18',
  dockerfile: LATER_POSTGRES,
  context: '.',
  inputs: [LATER_POSTGRES],
  parents: [{ argument: 'POSTGRES', image: postgres }],
};
const platform = buildProduct({
  name: 'gx-platform',
  inputs: ['src', 'crds', 'dev/console', 'dev/reference'],
  parents: [{ stage: 'cluster-app', image: clusterApp }],
});
const builder = buildProduct({
  name: 'gx-builder',
  inputs: ['src', 'dev/images/tools', PYTHON_LOCK],
  parents: [withModules, onApp],
});
const buildkit = buildProduct({
  name: 'gx-buildkit',
  inputs: ['dev/cluster/parts/buildkit'],
  base: 'BUILDKIT',
  parents: [{ stage: 'gx-builder', image: builder }],
});
const agentApp = buildProduct({ name: 'gx-agent-app', inputs: [], parents: [onApp] });
const agentServer = buildProduct({
  name: 'gx-agent-server',
  inputs: ['src', 'python/gx_runner'],
  parents: [{ stage: 'agent-app', image: agentApp }],
});
const pythonApp = buildProduct({
  name: 'gx-python-app',
  inputs: [PYTHON_LOCK, 'dev/images/sbom'],
  parents: [{ stage: 'agent-app', image: agentApp }],
});
const agentServerPython = buildProduct({
  name: 'gx-agent-server-python',
  inputs: agentServer.inputs,
  parents: [{ stage: 'python-app', image: pythonApp }],
});
const agentServerCli = buildProduct({
  name: 'gx-agent-server-cli',
  inputs: ['dev/images/cli'],
  parents: [{ stage: 'gx-agent-server-python', image: agentServerPython }],
});

/** Returns every image, a parent before its children. Each example with a gx.json is one. */
export function listImages(): Image[] {
  const folder = join(root, 'examples');
  const names = existsSync(folder) ? readdirSync(folder).toSorted() : [];
  return [
    postgres,
    laterPostgres,
    valkey,
    platform,
    builder,
    buildkit,
    agentServer,
    agentServerPython,
    agentServerCli,
    ...names.filter((name) => existsSync(join(folder, name, 'gx.json'))).map(buildExample),
  ];
}

function buildExample(folder: string): Image {
  const context = `examples/${folder}`;
  const { graphs } = JSON.parse(readFileSync(join(root, context, 'gx.json'), 'utf8')) as {
    graphs: Record<string, { path: string } | string>;
  };
  const isPython = Object.values(graphs).some(
    (graph) => decideLanguage(typeof graph === 'string' ? graph : graph.path) === 'python',
  );
  const dockerfile = 'dev/images/example.Dockerfile';
  return {
    name: `gx-example-${folder}`,
    dockerfile,
    context,
    inputs: [dockerfile, context],
    parents: [{ argument: 'AGENT_SERVER', image: isPython ? agentServerPython : agentServer }],
  };
}

/** Returns the images of these names, or all of them by default. */
export function chooseImages(names: readonly string[] | undefined): Image[] {
  const all = listImages();
  if (names === undefined || names.length === 0) return all;
  const unknown = names.filter((name) => !all.some((image) => image.name === name));
  if (unknown.length > 0)
    throw new UsageError(
      `There is no image ${unknown.join(', ')}; there are: ${all.map(({ name }) => name).join(', ')}.`,
    );
  return all.filter(({ name }) => names.includes(name));
}

/**
 * Returns a key that changes with anything that the image is made from. `base` is the image that the engine builds on.
 */
function computeKey(image: Image, base: string): string {
  // An archive has the whole reference in it, so its key changes with the registry, too.
  const parents = (image.parents ?? []).map((parent) => computeKey(parent.image, base));
  return hashContent(root, image.inputs, [NO_REGISTRY, base, ...parents, image.target ?? '']);
}

/**
 * Returns the image's reference. A changed image has another one, so that `imagePullPolicy: IfNotPresent` never runs an
 * old image.
 */
export const buildImageReference = (image: Image, base: string): string =>
  `${NO_REGISTRY}/gx/${image.name}:dev-${computeKey(image, base)}`;
