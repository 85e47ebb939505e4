import { isFolder, type GxJson } from '../../schema/agent/gx-json.ts';
import { parseCodePlace, isEmbedCode, decideLanguage } from '../../schema/agent/code-place.ts';
import { parseImageReference } from '../registry/reference.ts';

export type Machine = {
  /** Of Node, as `process.version` says it. */
  node: string;
  baseImage: string;
};

/**
 * Returns which key of gx.json asks for a build by a Dockerfile; undefined when none does. A base image that is the
 * platform's own, in whatever version, needs none.
 */
export function findDockerfileKey(
  { dockerfile, dockerfile_lines, base_image }: GxJson,
  { baseImage }: { baseImage: string },
): string | undefined {
  if (dockerfile !== undefined) return 'dockerfile';
  if (dockerfile_lines !== undefined && dockerfile_lines.length > 0) return 'dockerfile_lines';
  return base_image !== undefined && parseRepository(base_image) !== parseRepository(baseImage)
    ? 'base_image'
    : undefined;
}

/** Returns a demand that no build without a Dockerfile can meet, as a sentence; undefined when there is none. */
export function needsDockerfile(settings: GxJson, machine: Machine): string | undefined {
  const key = findDockerfileKey(settings, machine);
  return (
    key &&
    `"${key}" of gx.json needs a build by a Dockerfile, which this installation does not offer: turn on builds.buildkit of the chart, remove the key, or build the image elsewhere and deploy it as external_container`
  );
}

const parseRepository = (name: string): string => {
  const { host = '', repository = name } = parseImageReference(name) ?? {};
  return `${host}/${repository}`;
};

/** Returns why the Node of the image does not serve; undefined when it does. */
export function checkNodeVersion({ node_version }: GxJson, { node }: Machine): string | undefined {
  if (node_version === undefined) return undefined;
  const [wanted, ours] = [parseMajor(node_version), parseMajor(node)];
  if (Number.isNaN(wanted))
    return `"node_version" of gx.json is ${node_version}, which is not a version of Node`;
  return wanted > ours
    ? `"node_version" of gx.json asks for Node ${node_version}, and agents run on Node ${ours} here: ask for ${ours} or an older one`
    : undefined;
}

const parseMajor = (version: string): number => Number(/\d+/.exec(version)?.[0]);

/** Returns lines about keys that change nothing in this build. */
export function describeIgnoredDemands(settings: GxJson, { node }: Machine): string[] {
  const { node_version, dependencies = [], image_distro, pip_installer, keep_pkg_tools } = settings;
  const named = isOfPython(settings) ? [] : dependencies.filter((name) => !isFolder(name));
  return [
    ...(pip_installer === 'pip' ? [`"pip_installer" has no effect: uv installs`] : []),
    ...(keep_pkg_tools === undefined || keep_pkg_tools === false
      ? []
      : [`"keep_pkg_tools" has no effect: the image has uv, and neither pip nor setuptools`]),
    ...(node_version === undefined || parseMajor(node_version) === parseMajor(node)
      ? []
      : [
          `"node_version" asks for Node ${node_version}; the image runs Node ${node.replace(/^v/, '')}`,
        ]),
    ...(image_distro === undefined || ['', 'debian', 'bookworm'].includes(image_distro)
      ? []
      : [`"image_distro" has no effect: the image is Debian`]),
    ...(named.length === 0
      ? []
      : [
          `"dependencies" names ${named.join(', ')}, which has no effect: package.json says what is installed`,
        ]),
  ];
}

const listGraphReferences = ({ graphs }: GxJson): [string, string][] =>
  Object.entries(graphs).map(([id, graph]) => [id, typeof graph === 'string' ? graph : graph.path]);

/** Returns whether some graph is in Python, so that the image needs a Python and its packages. */
export const isOfPython = (settings: GxJson): boolean =>
  listGraphReferences(settings).some(([, graph]) => decideLanguage(graph) === 'python');

/** Returns whether something that gx.json names is run or bundled by Node with packages of its own. */
export function isOfJavaScript(settings: GxJson): boolean {
  const { node_version, ui } = settings;
  const references = [
    ...listGraphReferences(settings).map(([, graph]) => graph),
    ...listCodeReferences(settings).map(([, reference]) => reference),
  ];
  return (
    node_version !== undefined ||
    ui !== undefined ||
    references.some((reference) => decideLanguage(reference) === 'javascript')
  );
}

function listCodeReferences({
  auth,
  http,
  store,
  encryption,
}: GxJson): [key: string, reference: string][] {
  const embed = store?.index?.embed;
  const named: [string, string | undefined][] = [
    ['auth.path', auth?.path],
    ['http.app', http?.app],
    ['encryption.path', encryption?.path],
    // Others are models of a provider.
    ['store.index.embed', embed !== undefined && isEmbedCode(embed) ? embed : undefined],
  ];
  return named.filter((entry): entry is [string, string] => entry[1] !== undefined);
}

/** Returns why code in Python can't be run beside graphs that all are in JavaScript; undefined where there is none. */
export function checkPythonCode(settings: GxJson): string | undefined {
  const [key, reference] =
    listCodeReferences(settings).find(([, each]) => decideLanguage(each) === 'python') ?? [];
  return key === undefined || isOfPython(settings)
    ? undefined
    : `"${key}" of gx.json is in Python (${reference}), and all graphs are in JavaScript, whose image has no Python: write it in JavaScript`;
}

/** Returns the files that gx.json names, from its own folder. Modules of Python are found when they are imported. */
export function listNamedFiles(settings: GxJson): string[] {
  const refs = [...listGraphReferences(settings), ...listCodeReferences(settings)].map(
    ([, reference]) => reference,
  );
  const files = refs.flatMap((ref) =>
    !/:[^/\\]+$/.test(ref)
      ? ref
      : parseCodePlace(ref).isModule
        ? []
        : ref.slice(0, ref.lastIndexOf(':')),
  );
  return [...new Set([...files, ...Object.values(settings.ui ?? {})])];
}
