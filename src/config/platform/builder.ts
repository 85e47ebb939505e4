import { isOnDockerHub } from '../../schema/platform/source/built-image.ts';
import type { SettingsReader } from '../env.ts';

/** The builder of deployments of source git: the platform's own image, in stages, in a namespace of its own. */
export type Builder = {
  image: string;
  /** The registry and path below which built images are pushed. */
  repository: string;
  /** The namespace of all builds, and of the credential that they push with. */
  namespace: string;
  /** The namespace of the Secrets of git integrations, of which each build gets a copy. */
  gitNamespace: string;
  /** Where builds with the lines of a Dockerfile run, in pods with users of their own, and the image of these. */
  buildkit?: { namespace: string; image: string };
  /** The agent server's image, onto which layers are put. */
  baseImage?: string;
  /** The one with Python. */
  pythonBaseImage?: string;
  npmRegistry?: string;
  pypiIndex?: string;
  serviceAccountName?: string;
  /** Registry credentials (kubernetes.io/dockerconfigjson) in the namespace of builds, to push. */
  registrySecretName?: string;
  /** Registry credentials in the agents' namespaces, to pull built images. */
  pullSecretName?: string;
  /** Credentials of private indexes of packages, in the namespace of builds. */
  indexSecretName?: string;
  /** A ConfigMap of the build namespace whose key `ca.crt` holds further certificate authorities. */
  caConfigMapName?: string;
  /** True if the registry speaks plain http, as in the local cluster. */
  insecureRegistry: boolean;
  /** Builds of one tenant at once, and of all tenants. The second is more, so that no tenant holds all places. */
  parallel: number;
  parallelInAll: number;
  cpu: number;
  memoryMb: number;
  /** The space that sources, packages and layers of one build may take together, in Mi. */
  diskMb: number;
  /** Seconds from the build's creation to its end. */
  deadlineSeconds: number;
  /** Seconds that a build is kept after its end, so that its log can be read. */
  keepSeconds: number;
};

const TEXTS = {
  baseImage: 'GX_BUILD_BASE_IMAGE',
  pythonBaseImage: 'GX_BUILD_PYTHON_BASE_IMAGE',
  npmRegistry: 'GX_BUILD_NPM_REGISTRY',
  pypiIndex: 'GX_BUILD_PYPI_INDEX',
  serviceAccountName: 'GX_BUILDER_SERVICE_ACCOUNT',
  registrySecretName: 'GX_BUILDER_REGISTRY_SECRET',
  pullSecretName: 'GX_BUILDER_PULL_SECRET',
  indexSecretName: 'GX_BUILD_INDEX_SECRET',
  caConfigMapName: 'GX_BUILD_CA_CONFIG_MAP',
};

/** Reads the settings of the builder. There are none without a registry and path to push to. */
export function readBuilderSettings(read: SettingsReader): { builder?: Builder } {
  const repository = read.readOptional(['GX_BUILDER_REPOSITORY'])?.replace(/\/+$/, '');
  if (repository === undefined) return {};
  if (!REPOSITORY.test(repository))
    read.addProblem('GX_BUILDER_REPOSITORY must be a registry and path, in lower case');
  if (isOnDockerHub(repository) && repository.split('/').length !== 2)
    read.addProblem(
      'GX_BUILDER_REPOSITORY must be docker.io/<organization>, because Docker Hub has no repositories below others',
    );
  const texts = Object.entries(TEXTS).map(
    ([key, name]) => [key, read.readOptional([name])] as const,
  );
  return {
    builder: {
      image: read.readRequired(['GX_BUILD_IMAGE'], 'the image that builds'),
      repository,
      namespace: read.readRequired(['GX_BUILD_NAMESPACE'], 'the namespace of builds'),
      gitNamespace: read.readRequired(
        ['GX_GIT_NAMESPACE'],
        'the namespace of the Secrets of git integrations',
      ),
      ...Object.fromEntries(texts.filter(([, value]) => value !== undefined)),
      ...readBuildkit(read),
      insecureRegistry: read.readFlag(['GX_BUILD_REGISTRY_INSECURE'], false),
      // Two builds of a core each leave room on a small cluster; the quota of the namespace bounds them as well.
      ...readBuildLimits(read),
      // Half a core and 1 GB are enough to install and bundle a JavaScript project of some hundred packages.
      cpu: read.readInteger(['GX_BUILDER_CPU_MILLI'], 500, { min: 10, max: 512_000 }) / 1000,
      memoryMb: read.readInteger(['GX_BUILDER_MEMORY_MB'], 1024, { min: 16, max: 4_194_304 }),
      diskMb: read.readInteger(['GX_BUILD_DISK_MB'], 4096, { min: 64, max: 1_048_576 }),
      deadlineSeconds: read.readInteger(['GX_BUILDER_DEADLINE_SECONDS'], 1800, {
        min: 10,
        max: 86_400,
      }),
      keepSeconds: read.readInteger(['GX_BUILDER_KEEP_SECONDS'], 86_400, {
        min: 60,
        max: 31_536_000,
      }),
    },
  };
}

function readBuildLimits(read: SettingsReader): { parallel: number; parallelInAll: number } {
  const parallel = read.readInteger(['GX_BUILD_PARALLEL'], 2, { min: 1, max: 1000 });
  const parallelInAll = read.readInteger(['GX_BUILD_PARALLEL_TOTAL'], 2 * parallel, {
    min: 2,
    max: 10_000,
  });
  if (parallelInAll <= parallel)
    read.addProblem(
      `GX_BUILD_PARALLEL_TOTAL must be more than GX_BUILD_PARALLEL (${parallel}), or one tenant could hold all places`,
    );
  return { parallel, parallelInAll };
}

function readBuildkit(read: SettingsReader): Pick<Builder, 'buildkit'> {
  const [namespace, image] = [
    read.readOptional(['GX_BUILDKIT_NAMESPACE']),
    read.readOptional(['GX_BUILDKIT_IMAGE']),
  ];
  if ((namespace === undefined) !== (image === undefined))
    read.addProblem('GX_BUILDKIT_NAMESPACE and GX_BUILDKIT_IMAGE must be set together');
  return namespace === undefined || image === undefined ? {} : { buildkit: { namespace, image } };
}

/** Returns the namespaces in which builds run. */
export const buildNamespaces = (builds: Builder | undefined): string[] =>
  builds === undefined
    ? []
    : [builds.namespace, ...(builds.buildkit === undefined ? [] : [builds.buildkit.namespace])];

/** The part that may stand before `/<namespace>/<deployment>` in the name of an image. */
const REPOSITORY = /^[a-z0-9]+([._-][a-z0-9]+)*(:[0-9]{1,5})?(\/[a-z0-9]+([._-]+[a-z0-9]+)*)*$/;
