import { dirname, basename } from 'node:path';

/*
 * What a test needs says in which suite it runs: a real API server (`kube`), a real Postgres (`agent`), nothing
 * (`unit`). Its folder says it, and nothing else.
 */

/** The suites of folders. One that is not named has the suite of the folder around it. */
const FOLDERS: Record<string, string[]> = {
  unit: [
    'test',
    'test/agent',
    'test/bench/agent',
    'test/control-plane/{logs,pod-policy,stored}',
    'test/operator/{branches,deployment,downgrade,kernel,kinds,listener,objects,pods,revision,rollout}',
    'test/operator/{routes,scale,secrets,series}',
    'test/operator/database/own/{credentials,tls}',
  ],
  agent: [
    'test/agent/{a2a,ag-ui,budgets,custom-routes,db,event-streaming,expiry,imports,mcp,once,queue,revisions,runner}',
    'test/agent/{tracing,ui,usage,wire}',
    'test/agent/dev/embedded-postgres',
    'test/agent/graph-thread/checkpoints',
    'test/{backup,examples}',
  ],
  kube: ['test/{control-plane,kube,operator}'],
};

/** Folders that are suites of their own, by their path below test. */
const OF_THEIR_NAME = [
  'air-gapped',
  'browser',
  'browser/console',
  'builder',
  'builds',
  'charts',
  'cnpg',
  'company',
  'company-pods',
  'crash',
  'dockerfiles',
  'faults',
  'packets',
  'projects',
  'python',
  'restore',
  'rollouts',
  'routes',
  'runbooks',
  'scale',
  'system',
  'upgrade',
];

/** Folders with this name, within another one, have the tests that need something else than the others there. */
const WITHIN = ['unit', 'agent', 'kube', 'builder', 'shapes'];

/** Returns the paths that a path with alternatives in braces stands for. */
function expandPath(path: string): string[] {
  const [, before = '', names, after = ''] = /^(.*)\{(.*)\}(.*)$/.exec(path) ?? [];
  return names === undefined ? [path] : names.split(',').map((name) => `${before}${name}${after}`);
}

const SUITES = new Map([
  ...Object.entries(FOLDERS).flatMap(([suite, paths]) =>
    paths.flatMap(expandPath).map((path): [string, string] => [path, suite]),
  ),
  ...OF_THEIR_NAME.map((name): [string, string] => [`test/${name}`, name]),
]);

/** Returns the suite of a test by its folder. */
export function findSuite(file: string): string {
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    const suite = SUITES.get(folder) ?? WITHIN.find((name) => name === basename(folder));
    if (suite !== undefined) return suite;
  }
}
