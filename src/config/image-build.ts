import { INDEX_PORT } from '../schema/wire/build-message.ts';
import { SettingsReader, type Env } from './env.ts';

/** The settings of the stages of a build from git. A stage gets only those that it needs. */
export type ImageBuildConfig = ReturnType<typeof imageBuildConfig>;

const NETWORK = /^(https?_proxy|no_proxy|node_use_env_proxy|node_extra_ca_certs|git_ssl_cainfo|ssl_cert_(file|dir))$/i;

/** Reads the settings of the process `builder`. */
export function imageBuildConfig(env: Env) {
  const read = new SettingsReader(env);
  const optional = <K extends string>(key: K, name: string): { [P in K]?: string } => {
    const value = read.optional([name]);
    return (value === undefined ? {} : { [key]: value }) as { [P in K]?: string };
  };
  const work = read.text(['GX_WORK_FOLDER'], '/work');
  const config = {
    git: {
      ...optional('url', 'GX_GIT_URL'),
      ...optional('ref', 'GX_GIT_REF'),
      ...optional('commit', 'GX_GIT_COMMIT'),
      insecure: read.flag(['GX_GIT_INSECURE'], false),
      // Tests clone from folders of their machine.
      local: read.flag(['GX_GIT_LOCAL'], false),
      credentials: read.text(['GX_GIT_CREDENTIALS'], '/gx/git'),
      limitMb: read.integer(['GX_SOURCE_LIMIT_MB'], 1024, { min: 1, max: 1_048_576 }),
    },
    /** The path of gx.json from the root of the repository. */
    configPath: read.text(['GX_CONFIG_PATH'], 'gx.json'),
    ...optional('installCommand', 'GX_INSTALL_COMMAND'),
    ...optional('buildCommand', 'GX_BUILD_COMMAND'),
    /** The name to push under. */
    ...optional('image', 'GX_IMAGE'),
    /** The repository that keeps installed packages. */
    ...optional('cacheImage', 'GX_CACHE_IMAGE'),
    ...optional('baseImage', 'GX_BASE_IMAGE'),
    /** The base image of agents with graphs in Python. */
    ...optional('pythonBaseImage', 'GX_PYTHON_BASE_IMAGE'),
    registry: {
      insecure: read.flag(['GX_REGISTRY_INSECURE'], false),
      credentials: read.text(['GX_REGISTRY_CREDENTIALS'], '/gx/registry'),
    },
    ...publicAddress(read, 'npmRegistry', 'GX_NPM_REGISTRY'),
    /** The index of Python packages. */
    ...publicAddress(read, 'pypiIndex', 'GX_PYPI_INDEX'),
    /**
     * Private indexes of packages: the address of their proxy in this pod, for builds; its port, the folder of the
     * credentials and the tenant whose indexes it serves, for the proxy itself.
     */
    indexes: {
      ...publicAddress(read, 'proxy', 'GX_INDEX_PROXY'),
      port: read.integer(['GX_INDEX_PORT'], INDEX_PORT, { min: 0, max: 65_535 }),
      credentials: read.text(['GX_INDEX_CREDENTIALS'], '/gx/indexes'),
      tenant: read.text(['GX_TENANT'], ''),
    },
    /** Whether this pod has BuildKit, and users of its own. */
    buildkit: read.flag(['GX_BUILDKIT'], false),
    /**
     * Folders: of the build; of the decisions made before the repository's commands run, which they can't write in a
     * pod; and of package managers that are there already.
     */
    work,
    kept: read.text(['GX_KEPT_FOLDER'], `${work}/kept`),
    tools: read.text(['GX_BUILDER_TOOLS'], '/opt/gx-tools'),
    /** The folder above Node's headers, for packages that are compiled; by default they are where Node is. */
    ...optional('nodeHeaders', 'GX_NODE_HEADERS'),
    terminationLog: read.text(['GX_TERMINATION_LOG'], '/dev/termination-log'),
    /** Where programs of this image are. */
    path: read.text(['PATH'], '/usr/local/bin:/usr/bin:/bin'),
    /** Variables with which programs reach the network from here. */
    network: Object.fromEntries(Object.entries(env).filter((entry): entry is [string, string] => NETWORK.test(entry[0]))),
  };
  read.finish();
  return config;
}

/** User commands see the address, so it holds no password. */
function publicAddress<K extends string>(read: SettingsReader, key: K, name: string): { [P in K]?: string } {
  const address = read.optional([name]);
  if (address === undefined) return {};
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '')
    read.problem(`${name} must be an http or https address without a password`);
  return { [key]: address } as { [P in K]?: string };
}
