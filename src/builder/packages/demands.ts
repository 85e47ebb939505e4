import type { GxJson } from '../../schema/agent/gx-json.ts';
import { imageReference } from '../registry/reference.ts';

export type Machine = {
  /** Of Node, as `process.version` says it. */
  node: string;
  baseImage: string;
};

/**
 * Returns which key of gx.json asks for a build by a Dockerfile; undefined when none does. A base image that is the
 * platform's own, in whatever version, needs none.
 */
export function dockerfileKey(
  { dockerfile, dockerfile_lines, base_image }: GxJson,
  { baseImage }: Pick<Machine, 'baseImage'>,
): string | undefined {
  if (dockerfile !== undefined) return 'dockerfile';
  if (dockerfile_lines !== undefined && dockerfile_lines.length > 0) return 'dockerfile_lines';
  return base_image !== undefined && repositoryOf(base_image) !== repositoryOf(baseImage) ? 'base_image' : undefined;
}

/** Returns a demand that no build without a Dockerfile can meet, as a sentence; undefined when there is none. */
export function needsDockerfile(settings: GxJson, machine: Pick<Machine, 'baseImage'>): string | undefined {
  const key = dockerfileKey(settings, machine);
  return (
    key &&
    `"${key}" of gx.json needs a build by a Dockerfile, which this installation does not offer: turn on builds.buildkit of the chart, remove the key, or build the image elsewhere and deploy it as external_container`
  );
}

const repositoryOf = (name: string): string => {
  const { host = '', repository = name } = imageReference(name) ?? {};
  return `${host}/${repository}`;
};

/** Returns why the Node of the image does not serve; undefined when it does. */
export function nodeFault({ node_version }: GxJson, { node }: Machine): string | undefined {
  if (node_version === undefined) return undefined;
  const [wanted, ours] = [node_version, node].map((version) => Number(/\d+/.exec(version)?.[0]));
  if (wanted === undefined || ours === undefined || Number.isNaN(wanted))
    return `"node_version" of gx.json is ${node_version}, which is no version of Node`;
  return wanted > ours
    ? `"node_version" of gx.json asks for Node ${node_version}, and agents run on Node ${ours} here: ask for ${ours} or an older one`
    : undefined;
}

/** Returns lines about keys that change nothing in this build. */
export function demandsWithoutEffect({ node_version, dependencies = [], image_distro }: GxJson, { node }: Machine): string[] {
  const named = dependencies.filter((name) => !isFolder(name));
  return [
    ...(node_version === undefined ? [] : [`"node_version" asks for Node ${node_version}; the image runs Node ${node.replace(/^v/, '')}`]),
    ...(image_distro === undefined ? [] : [`"image_distro" has no effect: the image is Debian`]),
    ...(named.length === 0 ? [] : [`"dependencies" names ${named.join(', ')}, which has no effect: package.json says what is installed`]),
  ];
}

/** Returns whether an entry of `dependencies` is a folder of the repository. */
export const isFolder = (name: string): boolean => /^\.{0,2}(\/|$)/.test(name);

/** Returns the files that gx.json names, from its own folder. */
export function namedFiles({ graphs, auth, http, store, encryption, ui }: GxJson): string[] {
  const refs = [
    ...Object.values(graphs).map((graph) => (typeof graph === 'string' ? graph : graph.path)),
    ...[auth?.path, http?.app, encryption?.path].filter((ref) => ref !== undefined),
    ...[store?.index?.embed].filter((ref) => ref !== undefined && /^[./]/.test(ref)).map((ref) => ref!),
  ];
  const files = refs.map((ref) => (/:[^/\\]+$/.test(ref) ? ref.slice(0, ref.lastIndexOf(':')) : ref));
  return [...new Set([...files, ...Object.values(ui ?? {})])];
}
