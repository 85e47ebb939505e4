import type { SettingsReader } from './env.ts';

/** How the platform's own image builds: in stages, in a namespace of its own. */
export type StagedBuilds = {
  /** The namespace of all builds, and of the credential that they push with. */
  namespace: string;
  /** The namespace of the Secrets of git integrations, of which each build gets a copy. */
  gitNamespace: string;
  /** Where builds with the lines of a Dockerfile run, in pods with users of their own, and the image of these. */
  buildkit?: { namespace: string; image: string };
  /** The agent server's image, onto which layers are put. */
  baseImage?: string;
  npmRegistry?: string;
  /** Registry credentials in the agents' namespaces, to pull what was built. */
  pullSecretName?: string;
  /** A ConfigMap of the build namespace whose key `ca.crt` holds further certificate authorities. */
  caConfigMapName?: string;
  /** True if the registry speaks plain http, as in the local cluster. */
  insecureRegistry: boolean;
  /** Builds at once. */
  parallel: number;
  /** What sources, packages and layers of one build may take together, in Mi. */
  diskMb: number;
};

/**
 * The image that builds deployments of source git, and what it gets. It is an administrator's, whose Secrets are those
 * of the namespace that it builds in, or with `staged` the platform's.
 */
export type Builder = {
  staged?: StagedBuilds;
  image: string;
  command?: string[];
  args?: string[];
  /** The registry and path below which built images are pushed. */
  repository: string;
  serviceAccountName?: string;
  /** A Secret whose keys become its environment, such as a token of the git host. */
  secretName?: string;
  /** Registry credentials (kubernetes.io/dockerconfigjson) to pull the builder, and to push and pull what it builds. */
  registrySecretName?: string;
  cpu: number;
  memoryMb: number;
  /** Seconds from the build's creation to its end. */
  deadlineSeconds: number;
  /** Seconds that a build is kept after its end, so that its log can be read. */
  keepSeconds: number;
};

/** Reads the settings of the builder. There are none without an image. */
export function builder(read: SettingsReader): { builder?: Builder } {
  const given = read.optional(['GX_BUILDER_IMAGE']);
  const own = given === undefined && read.optional(['GX_BUILDER_REPOSITORY']) !== undefined ? read.optional(['GX_BUILD_IMAGE']) : undefined;
  const image = given ?? own;
  if (image === undefined) return {};
  const optional = <K extends string>(key: K, name: string): { [P in K]?: string } => {
    const value = read.optional([name]);
    return (value === undefined ? {} : { [key]: value }) as { [P in K]?: string };
  };
  const repository = read.required(['GX_BUILDER_REPOSITORY'], 'registry and path for built images').replace(/\/+$/, '');
  if (repository !== '' && !REPOSITORY.test(repository)) read.problem('GX_BUILDER_REPOSITORY must be a registry and path, in lower case');
  return {
    builder: {
      ...(own !== undefined && { staged: staged(read) }),
      image,
      ...words(read, 'command', 'GX_BUILDER_COMMAND'),
      ...words(read, 'args', 'GX_BUILDER_ARGS'),
      repository,
      ...optional('serviceAccountName', 'GX_BUILDER_SERVICE_ACCOUNT'),
      ...optional('secretName', 'GX_BUILDER_SECRET'),
      ...optional('registrySecretName', 'GX_BUILDER_REGISTRY_SECRET'),
      // Half a core and 1 GB are enough to install and bundle a JavaScript project of some hundred packages.
      cpu: read.integer(['GX_BUILDER_CPU_MILLI'], 500, { min: 10, max: 512_000 }) / 1000,
      memoryMb: read.integer(['GX_BUILDER_MEMORY_MB'], 1024, { min: 16, max: 4_194_304 }),
      deadlineSeconds: read.integer(['GX_BUILDER_DEADLINE_SECONDS'], 1800, { min: 10, max: 86_400 }),
      keepSeconds: read.integer(['GX_BUILDER_KEEP_SECONDS'], 86_400, { min: 60, max: 31_536_000 }),
    },
  };
}

function staged(read: SettingsReader): StagedBuilds {
  const names = {
    baseImage: 'GX_BUILD_BASE_IMAGE',
    npmRegistry: 'GX_BUILD_NPM_REGISTRY',
    pullSecretName: 'GX_BUILDER_PULL_SECRET',
    caConfigMapName: 'GX_BUILD_CA_CONFIG_MAP',
  };
  const texts = Object.entries(names).map(([key, name]) => [key, read.optional([name])] as const);
  return {
    namespace: read.required(['GX_BUILD_NAMESPACE'], 'the namespace of builds'),
    gitNamespace: read.required(['GX_GIT_NAMESPACE'], 'the namespace of the Secrets of git integrations'),
    ...Object.fromEntries(texts.filter(([, value]) => value !== undefined)),
    ...buildkit(read),
    insecureRegistry: read.flag(['GX_BUILD_REGISTRY_INSECURE'], false),
    // Two builds of a core each leave room on a small cluster; the quota of the namespace bounds them as well.
    parallel: read.integer(['GX_BUILD_PARALLEL'], 2, { min: 1, max: 1000 }),
    diskMb: read.integer(['GX_BUILD_DISK_MB'], 4096, { min: 64, max: 1_048_576 }),
  };
}

function buildkit(read: SettingsReader): Pick<StagedBuilds, 'buildkit'> {
  const [namespace, image] = [read.optional(['GX_BUILDKIT_NAMESPACE']), read.optional(['GX_BUILDKIT_IMAGE'])];
  if ((namespace === undefined) !== (image === undefined)) read.problem('GX_BUILDKIT_NAMESPACE and GX_BUILDKIT_IMAGE must be set together');
  return namespace === undefined || image === undefined ? {} : { buildkit: { namespace, image } };
}

/** Returns the namespaces in which the platform's own builder builds. */
export const buildNamespaces = ({ staged: builds }: Pick<Builder, 'staged'> = {}): string[] =>
  builds === undefined ? [] : [builds.namespace, ...(builds.buildkit === undefined ? [] : [builds.buildkit.namespace])];

/** What may stand before `/<namespace>/<deployment>` in the name of an image. */
const REPOSITORY = /^[a-z0-9]+([._-][a-z0-9]+)*(:[0-9]{1,5})?(\/[a-z0-9]+([._-]+[a-z0-9]+)*)*$/;

function words<K extends string>(read: SettingsReader, key: K, name: string): { [P in K]?: string[] } {
  const value = read.json([name]);
  if (value === undefined) return {};
  const isList = Array.isArray(value) && value.every((word) => typeof word === 'string');
  if (!isList) read.problem(`${name} must be a list of texts in JSON`);
  return (isList ? { [key]: value } : {}) as { [P in K]?: string[] };
}
