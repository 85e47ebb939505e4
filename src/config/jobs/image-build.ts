import { INDEX_PORT } from '../../schema/wire/build-message.ts';
import { SettingsReader, type Env } from '../env.ts';

/** The settings of the stages of a build from git. A stage gets only those that it needs. */
export type ImageBuildConfig = ReturnType<typeof readImageBuildConfig>;

const NETWORK =
  /^(https?_proxy|no_proxy|node_use_env_proxy|node_extra_ca_certs|git_ssl_cainfo|ssl_cert_(file|dir))$/i;

/** Reads the settings of the process `builder`. */
export function readImageBuildConfig(env: Env) {
  const read = new SettingsReader(env);
  const readOptionalField = <K extends string>(key: K, name: string): { [P in K]?: string } => {
    const value = read.readOptional([name]);
    return (value === undefined ? {} : { [key]: value }) as { [P in K]?: string };
  };
  const work = read.readText(['GX_WORK_FOLDER'], '/work');
  const config = {
    git: {
      ...readOptionalField('url', 'GX_GIT_URL'),
      ...readOptionalField('ref', 'GX_GIT_REF'),
      ...readOptionalField('commit', 'GX_GIT_COMMIT'),
      insecure: read.readFlag(['GX_GIT_INSECURE'], false),
      // Tests clone from folders of their machine.
      local: read.readFlag(['GX_GIT_LOCAL'], false),
      credentials: read.readText(['GX_GIT_CREDENTIALS'], '/gx/git'),
      limitMb: read.readInteger(['GX_SOURCE_LIMIT_MB'], 1024, { min: 1, max: 1_048_576 }),
    },
    /** The path of gx.json from the root of the repository. */
    configPath: read.readText(['GX_CONFIG_PATH'], 'gx.json'),
    ...readOptionalField('installCommand', 'GX_INSTALL_COMMAND'),
    ...readOptionalField('buildCommand', 'GX_BUILD_COMMAND'),
    /** The name to push under. */
    ...readOptionalField('image', 'GX_IMAGE'),
    /** The repository that keeps installed packages. */
    ...readOptionalField('cacheImage', 'GX_CACHE_IMAGE'),
    ...readOptionalField('baseImage', 'GX_BASE_IMAGE'),
    ...readOptionalField('pythonBaseImage', 'GX_PYTHON_BASE_IMAGE'),
    registry: {
      insecure: read.readFlag(['GX_REGISTRY_INSECURE'], false),
      credentials: read.readText(['GX_REGISTRY_CREDENTIALS'], '/gx/registry'),
    },
    ...readPublicAddress(read, 'npmRegistry', 'GX_NPM_REGISTRY'),
    ...readPublicAddress(read, 'pypiIndex', 'GX_PYPI_INDEX'),
    /**
     * Private indexes of packages: the address of their proxy in this pod, for builds; its port, the folder of the
     * credentials and the tenant whose indexes it serves, for the proxy itself.
     */
    indexes: {
      ...readPublicAddress(read, 'proxy', 'GX_INDEX_PROXY'),
      port: read.readInteger(['GX_INDEX_PORT'], INDEX_PORT, { min: 0, max: 65_535 }),
      credentials: read.readText(['GX_INDEX_CREDENTIALS'], '/gx/indexes'),
      tenant: read.readText(['GX_TENANT'], ''),
    },
    /** Whether this pod has BuildKit, and users of its own. */
    buildkit: read.readFlag(['GX_BUILDKIT'], false),
    /**
     * Folders: of the build; of the decisions made before the repository's commands run, which they can't write in a
     * pod; and of package managers that are there already.
     */
    work,
    kept: read.readText(['GX_KEPT_FOLDER'], `${work}/kept`),
    tools: read.readText(['GX_BUILDER_TOOLS'], '/opt/gx-tools'),
    /** The folder above Node's headers, for packages that are compiled; by default they are where Node is. */
    ...readOptionalField('nodeHeaders', 'GX_NODE_HEADERS'),
    terminationLog: read.readText(['GX_TERMINATION_LOG'], '/dev/termination-log'),
    /** Where programs of this image are. */
    path: read.readText(['PATH'], '/usr/local/bin:/usr/bin:/bin'),
    /** Variables with which programs reach the network from here. */
    network: Object.fromEntries(
      Object.entries(env).filter((entry): entry is [string, string] => NETWORK.test(entry[0])),
    ),
  };
  read.finish();
  return config;
}

/** User commands see the address, so it holds no password. */
function readPublicAddress<K extends string>(
  read: SettingsReader,
  key: K,
  name: string,
): { [P in K]?: string } {
  const address = read.readOptional([name]);
  if (address === undefined) return {};
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (
    url === undefined ||
    !/^https?:$/.test(url.protocol) ||
    url.username !== '' ||
    url.password !== ''
  )
    read.addProblem(`${name} must be an http or https address without a password`);
  return { [key]: address } as { [P in K]?: string };
}
