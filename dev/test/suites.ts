import { availableParallelism } from 'node:os';

/** One command of a suite, and whether vitest runs in it (its results are counted). */
export type Check = {
  name: string;
  command: string[];
  vitest?: boolean;
  /** The kind of cluster that the check is about. Where tests have another one, the check has nothing to prove. */
  cluster?: 'native';
  /** Its test files that are about the native cluster alone. Where tests have another one, they are left out. */
  nativeOnly?: string[];
};

/** How many test files run at once. They mostly wait for servers and databases, so two cores carry two of them. */
const FILES = Math.max(2, availableParallelism() - 1);

/**
 * How many of the suites that wait longest: with two files at once, tests on a real API server use less than one of two
 * cores, and those on a real Postgres less than one and a half.
 */
const FILES_OF: Record<string, number> = { kube: FILES + 2, agent: FILES + 1 };

/** The twins that tell most of a change to the runner of Python graphs, within a minute or two. */
const FIRST_TWINS = [
  'contract',
  'failed-calls',
  'steering',
  'thread-state',
  'wire/streams',
  'event-streaming',
  'mcp/questions',
  'wire/encryption',
];

const buildVitestCheck = (project: string, files: string[] = []): Check => ({
  name: `tests: ${project}`,
  command: [
    'vitest',
    'run',
    '--project',
    project,
    `--maxWorkers=${FILES_OF[project] ?? FILES}`,
    '--reporter=dot',
    '--reporter=./dev/test/reporter.ts',
    ...files,
  ],
  vitest: true,
});

/** The checks of each suite, in order. `check` needs neither root nor a network. */
export const SUITES: Record<string, Check[]> = {
  check: [
    { name: 'format', command: ['oxfmt', '--check'] },
    { name: 'lint', command: ['oxlint', '--deny-warnings', '--report-unused-disable-directives'] },
    { name: 'lint walls hold', command: ['node', 'dev/test/walls.ts'] },
    { name: 'prose', command: ['node', 'dev/test/prose.ts'] },
    { name: 'types', command: ['tsc', '--noEmit'] },
    { name: 'types of the console page', command: ['tsc', '--noEmit', '-p', 'src/console/page'] },
    { name: 'size of the console page', command: ['node', 'dev/console/build.ts', '--check'] },
    { name: 'unused code', command: ['knip', '--no-progress'] },
    { name: 'generated files are fresh', command: ['node', 'dev/generate.ts', '--check'] },
    buildVitestCheck('unit'),
  ],
  kube: [buildVitestCheck('kube')],
  faults: [buildVitestCheck('faults')],
  company: [buildVitestCheck('company')],
  'company-pods': [buildVitestCheck('company-pods')],
  agent: [buildVitestCheck('agent')],
  crash: [buildVitestCheck('crash')],
  routes: [buildVitestCheck('routes')],
  browser: [buildVitestCheck('browser')],
  console: [buildVitestCheck('console')],
  tokens: [buildVitestCheck('console', ['test/browser/console/tokens.test.ts'])],
  python: [buildVitestCheck('python'), buildVitestCheck('twins', FIRST_TWINS)],
  twins: [buildVitestCheck('twins')],
  charts: [buildVitestCheck('charts')],
  builder: [buildVitestCheck('builder')],
  shapes: [buildVitestCheck('shapes')],
  dockerfiles: [buildVitestCheck('dockerfiles')],
  projects: [buildVitestCheck('projects')],
  packets: [buildVitestCheck('packets')],
  builds: [buildVitestCheck('builds')],
  restore: [buildVitestCheck('restore')],
  upgrade: [buildVitestCheck('upgrade')],
  'air-gapped': [buildVitestCheck('air-gapped')],
  scale: [buildVitestCheck('scale')],
  rollouts: [buildVitestCheck('rollouts')],
  runbooks: [{ ...buildVitestCheck('runbooks'), cluster: 'native' }],
  system: [
    { ...buildVitestCheck('packets'), cluster: 'native' },
    {
      ...buildVitestCheck('system'),
      nativeOnly: ['test/system/routes.test.ts', 'test/system/runbooks.test.ts'],
    },
  ],
};
