import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { contentKey } from './key.ts';

/** One image: what is built, and the files that decide whether it is still the same. Paths are relative to the checkout. */
export type Image = {
  name: string;
  dockerfile: string;
  target?: string;
  context: string;
  inputs: readonly string[];
  /** The image that `FROM` names by the build argument AGENT_SERVER. */
  parent?: Image;
};

export const root = join(import.meta.dirname, '..', '..');

const node = ['Dockerfile', 'package.json', 'package-lock.json', '.npmrc', 'src'];
const product = (name: string, inputs: readonly string[]): Image => ({
  name,
  dockerfile: 'Dockerfile',
  target: name,
  context: '.',
  inputs,
});

const postgres = product('gx-postgres', ['Dockerfile', 'dev/images/postgres']);
const platform = product('gx-platform', [...node, 'crds']);
const agentServer = product('gx-agent-server', node);

/** Every image, a parent before its children; each example with a gx.json is one. */
export function images(): Image[] {
  const folder = join(root, 'examples');
  const names = existsSync(folder) ? readdirSync(folder).toSorted() : [];
  return [postgres, platform, agentServer, ...names.filter((name) => existsSync(join(folder, name, 'gx.json'))).map(example)];
}

function example(folder: string): Image {
  const context = `examples/${folder}`;
  const dockerfile = 'dev/images/example.Dockerfile';
  return { name: `gx-example-${folder}`, dockerfile, context, inputs: [dockerfile, context], parent: agentServer };
}

/** The images of these names and nothing else; all of them by default. */
export function chosen(names: readonly string[] | undefined): Image[] {
  const all = images();
  if (names === undefined || names.length === 0) return all;
  const unknown = names.filter((name) => !all.some((image) => image.name === name));
  if (unknown.length > 0) throw new Error(`There is no image ${unknown.join(', ')}; known: ${all.map(({ name }) => name).join(', ')}.`);
  return all.filter(({ name }) => names.includes(name));
}

/** Changes with anything that the image is made of, `base` being what the engine builds on. */
function keyOf(image: Image, base: string): string {
  const parent = image.parent === undefined ? '' : keyOf(image.parent, base);
  return contentKey(root, image.inputs, [base, parent, image.target ?? '']);
}

/** A changed image is another reference, so that `imagePullPolicy: IfNotPresent` never runs an old one. */
export const referenceOf = (image: Image, base: string): string => `docker.io/gx/${image.name}:dev-${keyOf(image, base)}`;
