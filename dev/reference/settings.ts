import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DevError } from '../errors.ts';
import { WRITTEN } from './setting-meanings.ts';

/*
 * The page of the settings of the platform's processes: each variable that src/config reads, with its default and its
 * meaning. The value of the chart that sets it brings its words along; others have theirs in setting-meanings.ts.
 */

type Schema = {
  description?: string;
  properties?: Record<string, Schema>;
  definitions?: Record<string, Schema>;
  $ref?: string;
};
type Setting = { names: string[]; fallback: string };

const root = join(import.meta.dirname, '..', '..');
const read = (file: string): string => readFileSync(join(root, file), 'utf8');

/** The processes, and the files that read the settings of each. */
const PROCESSES = {
  operator: [
    'platform/operator',
    'platform/routes',
    'platform/placement',
    'platform/database-turns',
    'platform/tenant-budgets',
    'platform/object-keys',
    'address-blocks',
    'platform/git-integrations',
    'platform/builder',
    'platform/backups',
    'platform/prometheus',
    'proxies',
  ],
  'control-plane': [
    'platform/control-plane',
    'oidc',
    'platform/routes',
    'platform/object-keys',
    'address-blocks',
    'platform/git-integrations',
    'platform/prometheus',
    'proxies',
  ],
  gateway: ['platform/gateway', 'address-blocks', 'proxies'],
  console: ['platform/console', 'address-blocks'],
};

/** The variables of templates that stand for a section of the values. */
const SECTIONS: Record<string, string> = {
  settings: 'settings',
  oidc: 'controlPlane.oidc',
  builds: 'builds',
};
const OWN: Record<string, string> = {
  'control-plane': 'controlPlane',
  gateway: 'gateway',
  console: 'console',
};

/** Returns the text of docs/reference/settings.md. Throws if a setting has neither a value of the chart nor words. */
export function buildSettingsPage(sourceOf: (file: string) => string = read): string {
  const tables = Object.entries(PROCESSES).map(([name, files]) =>
    formatTable(
      name,
      files.map((file) => sourceOf(`src/config/${file}.ts`)),
    ),
  );
  return [
    '# Settings of the platform',
    'The environment variables of the operator, the control plane, the gateway and the console. The chart sets them\nfrom its values, which the second column names. Generated from src/config and the chart.',
    'A process that finds a wrong value does not start, and names every one in a sentence. Several names in a row are names\nof the same setting; the first one that is set counts. Settings of agents are those of [the agent\nserver](agent-server.md).',
    ...tables,
  ]
    .join('\n\n')
    .concat('\n');
}

function formatTable(process: string, sources: string[]): string {
  const values = readChartValues(process);
  const rows = sources.flatMap(parseSettings).map((setting) => formatRow(process, setting, values));
  return [
    `## ${process}\n`,
    '| Variable | Value of the chart | Default | Meaning |',
    '|---|---|---|---|',
    ...new Set(rows),
  ].join('\n');
}

function formatRow(
  process: string,
  { names, fallback }: Setting,
  values: Map<string, string>,
): string {
  const value = names.map((name) => values.get(name)).find((path) => path !== undefined);
  const described = value === undefined ? undefined : findDescription(value);
  const written = names.map((name) => WRITTEN[`${process} ${name}`] ?? WRITTEN[name]);
  const meaning = written.find((words) => words !== undefined) ?? described;
  if (meaning === undefined)
    throw new DevError(
      `The setting ${names.join(', ')} of ${process} has no words: add its line to dev/reference/setting-meanings.ts.`,
    );
  const cells = [
    names.map((name) => `\`${name}\``).join(', '),
    value === undefined ? '' : `\`${value}\``,
    fallback,
    meaning,
  ];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

/** Returns each setting that a source reads, with the names that set it and its default as the source writes it. */
function parseSettings(source: string): Setting[] {
  const lists = source.matchAll(
    /\(\s*\[\s*((?:'[A-Z0-9_]+'(?:,\s*)?)+)\](?:,\s*('[^']*'|[\d_]+|true|false)\s*[,)])?/g,
  );
  const found = [...lists].map(([, list = '', fallback = '']) => ({
    names: [...list.matchAll(/'([A-Z0-9_]+)'/g)].map(([, name = '']) => name),
    fallback:
      fallback.replaceAll(/['_]/g, '') === '' ? '' : `\`${fallback.replaceAll(/['_]/g, '')}\``,
  }));
  // A source may hand a name on, to a function that reads it.
  const others = [...source.matchAll(/'(GX_[A-Z0-9_]+)'/g)].map(([, name = '']) => name);
  const alone = others.filter((name) => !found.some(({ names }) => names.includes(name)));
  return [...found, ...alone.map((name) => ({ names: [name], fallback: '' }))];
}

/** Returns the value of the chart that each variable of a process comes from, where its template names just one. */
function readChartValues(process: string): Map<string, string> {
  const files = [
    `charts/gx-platform/templates/${process}/deployment.yaml`,
    'charts/gx-platform/templates/_helpers.tpl',
  ];
  const lines = files.flatMap((file) => [
    ...read(file).matchAll(/\(list "([A-Z0-9_]+)" (.+)\)$/gm),
  ]);
  return new Map(
    lines.flatMap(([, name = '', source = '']) => {
      const paths = new Set(
        [...source.matchAll(/(?:[.]Values|\$(\w+))[.]([\w.]+)/g)].map(([, variable, path = '']) =>
          resolveValuePath(process, variable, path),
        ),
      );
      const [path] = [...paths].filter((one) => one !== undefined && one !== 'builds.registry');
      const only = path ?? [...paths][0];
      return only === undefined ? [] : [[name, only] as const];
    }),
  );
}

function resolveValuePath(
  process: string,
  variable: string | undefined,
  path: string,
): string | undefined {
  if (variable === undefined) return path;
  const section = variable === 'own' ? OWN[process] : SECTIONS[variable];
  return section === undefined ? undefined : `${section}.${path}`;
}

function findDescription(path: string): string | undefined {
  const schema = JSON.parse(read('charts/gx-platform/values.schema.json')) as Schema;
  let at: Schema | undefined = schema;
  for (const word of path.split('.')) {
    const definition: Schema | undefined = schema.definitions?.[at?.$ref?.split('/').at(-1) ?? ''];
    at = { ...definition, ...at }.properties?.[word];
  }
  return at?.description;
}
