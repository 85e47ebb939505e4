/*
 * Which package manager a project has, and how it installs. The lock file decides; "packageManager" of package.json
 * names the version.
 */

export type ManagerName = 'npm' | 'pnpm' | 'yarn' | 'berry' | 'bun';

export type Manager = {
  name: ManagerName;
  /** The lock file; undefined if packages are resolved again by each build. */
  lockFile?: string;
  /** The package of npm that has the program; undefined for npm, which comes with Node. */
  tool?: string;
  program: string;
};

/** Lock files in the order in which they count if a folder has several. */
export const LOCK_FILES: readonly (readonly [
  file: string,
  name: 'npm' | 'pnpm' | 'yarn' | 'bun',
])[] = [
  ['npm-shrinkwrap.json', 'npm'],
  ['package-lock.json', 'npm'],
  ['pnpm-lock.yaml', 'pnpm'],
  ['yarn.lock', 'yarn'],
  ['bun.lock', 'bun'],
  ['bun.lockb', 'bun'],
];

/** The package managers in the builder's image. A project's "packageManager" may ask for others. */
export const DEFAULT_TOOLS = {
  pnpm: 'pnpm@10.34.8',
  yarn: 'yarn@1.22.22',
  berry: '@yarnpkg/cli-dist@4.18.1',
  bun: 'bun@1.4.5',
} as const;

/** The last version of pnpm that reads a lock file of an older version. */
const PNPM_OF_LOCK: Readonly<Record<string, string>> = { 5: 'pnpm@7.33.7', 6: 'pnpm@8.15.9' };

export type ProjectFacts = {
  /** Names of the files of the project's root. */
  files: readonly string[];
  /** "packageManager" of package.json. */
  packageManager?: string;
  /** The beginning of the lock file of that name. */
  lockText: (file: string) => string;
};

/** Returns the package manager of a project. Without a lock file it is the one that "packageManager" names, or npm. */
export function choosePackageManager({ files, packageManager, lockText }: ProjectFacts): Manager {
  const [, named, asked] =
    /^(npm|pnpm|yarn|bun)@(\d+\.\d+\.\d+[0-9A-Za-z.-]*)/.exec(packageManager ?? '') ?? [];
  const present = LOCK_FILES.filter(([file]) => files.includes(file));
  const [lockFile, kind = named ?? 'npm'] =
    present.find(([, name]) => name === named) ?? present[0] ?? [];
  const lock = lockFile === undefined ? undefined : { file: lockFile, text: lockText(lockFile) };
  return {
    ...managers[kind as keyof typeof managers](kind === named ? asked : undefined, lock?.text),
    ...(lock && { lockFile: lock.file }),
  };
}

const managers: Record<
  'npm' | 'pnpm' | 'yarn' | 'bun',
  (version: string | undefined, lock: string | undefined) => Manager
> = {
  npm: () => ({ name: 'npm', program: 'npm' }),
  pnpm: (version, lock) => ({ name: 'pnpm', program: 'pnpm', tool: choosePnpmTool(version, lock) }),
  bun: (version) => ({
    name: 'bun',
    program: 'bun',
    tool: version === undefined ? DEFAULT_TOOLS.bun : `bun@${version}`,
  }),
  yarn: (version, lock) =>
    isClassic(version, lock) ? buildClassicYarn(version) : buildBerryYarn(version),
};

/** The first yarn wrote no `__metadata` into its lock file. */
const isClassic = (version: string | undefined, lock: string | undefined): boolean =>
  version === undefined
    ? lock !== undefined && !lock.includes('__metadata:')
    : version.startsWith('1.');

const buildClassicYarn = (version: string | undefined): Manager => ({
  name: 'yarn',
  program: 'yarn',
  tool: version === undefined ? DEFAULT_TOOLS.yarn : `yarn@${version}`,
});

const buildBerryYarn = (version: string | undefined): Manager => ({
  name: 'berry',
  program: 'yarn',
  tool: version === undefined ? DEFAULT_TOOLS.berry : `@yarnpkg/cli-dist@${version}`,
});

function choosePnpmTool(version: string | undefined, lock: string | undefined): string {
  if (version !== undefined) return `pnpm@${version}`;
  const [, major = ''] = /lockfileVersion: '?(\d+)/.exec(lock ?? '') ?? [];
  return PNPM_OF_LOCK[major] ?? DEFAULT_TOOLS.pnpm;
}

type Install = {
  /** Installs all packages, those for development among them. */
  all: string[];
  /** Leaves out those for development. */
  production: string[];
  /** Whether `production` begins without installed packages. */
  fromNothing: boolean;
};

const INSTALLS: Record<ManagerName, (hasLock: boolean) => Install> = {
  npm: (hasLock) => ({
    all: ['npm', hasLock ? 'ci' : 'install'],
    production: ['npm', 'prune', '--omit=dev', '--ignore-scripts'],
    fromNothing: false,
  }),
  pnpm: (hasLock) => ({
    all: ['pnpm', 'install', ...buildFrozenFlag(hasLock, '--frozen-lockfile')],
    production: [
      'pnpm',
      'install',
      '--prod',
      '--prefer-offline',
      ...buildFrozenFlag(hasLock, '--frozen-lockfile'),
    ],
    fromNothing: false,
  }),
  yarn: (hasLock) => ({
    all: ['yarn', 'install', '--non-interactive', ...(hasLock ? ['--frozen-lockfile'] : [])],
    production: [
      'yarn',
      'install',
      '--non-interactive',
      '--production',
      '--prefer-offline',
      ...(hasLock ? ['--frozen-lockfile'] : []),
    ],
    fromNothing: false,
  }),
  berry: (hasLock) => ({
    all: ['yarn', 'install', ...buildFrozenFlag(hasLock, '--immutable')],
    production: ['yarn', 'workspaces', 'focus', '--all', '--production'],
    fromNothing: false,
  }),
  bun: (hasLock) => ({
    all: ['bun', 'install', ...(hasLock ? ['--frozen-lockfile'] : [])],
    production: ['bun', 'install', '--production', ...(hasLock ? ['--frozen-lockfile'] : [])],
    fromNothing: true,
  }),
};

// These refuse to write a lock file when CI is set, unless an option tells them to.
const buildFrozenFlag = (hasLock: boolean, option: string): string[] => [
  hasLock ? option : `--no-${option.slice(2)}`,
];

/** Returns the commands that install, and that leave out packages for development. */
export const buildInstallCommands = ({ name, lockFile }: Manager): Install =>
  INSTALLS[name](lockFile !== undefined);

/** Returns variables that every package manager needs: the folder of its downloads, and the registry. */
export function buildManagerEnvironment(
  work: string,
  npmRegistry: string | undefined,
): Record<string, string> {
  return {
    npm_config_cache: `${work}/npm-cache`,
    npm_config_update_notifier: 'false',
    npm_config_fund: 'false',
    npm_config_audit: 'false',
    npm_config_store_dir: `${work}/pnpm-store`,
    npm_config_manage_package_manager_versions: 'false',
    npm_config_confirm_modules_purge: 'false',
    YARN_CACHE_FOLDER: `${work}/yarn-cache`,
    YARN_GLOBAL_FOLDER: `${work}/yarn`,
    // The agent server loads graphs from node_modules alone.
    YARN_NODE_LINKER: 'node-modules',
    YARN_ENABLE_TELEMETRY: '0',
    YARN_ENABLE_GLOBAL_CACHE: 'true',
    BUN_INSTALL_CACHE_DIR: `${work}/bun-cache`,
    ...(npmRegistry === undefined ? {} : buildRegistryVariables(npmRegistry)),
  };
}

const buildRegistryVariables = (address: string): Record<string, string> => ({
  npm_config_registry: address,
  YARN_REGISTRY: address,
  YARN_NPM_REGISTRY_SERVER: address,
  ...(address.startsWith('http://')
    ? { YARN_UNSAFE_HTTP_WHITELIST: new URL(address).hostname }
    : {}),
});
