import { execFile } from 'node:child_process';
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import process from 'node:process';
import { parseArgs, promisify } from 'node:util';
import { UsageError } from '../../dev/errors.ts';
import { runMain, printLine, formatSecondsSince } from '../../dev/steps.ts';
import { readGraphsFile } from '../../src/agent/gx-json/read.ts';
import { installTools, installUv, TOOLS } from '../kit/build-stages.ts';
import { startDev, type DevServer } from '../kit/dev-server.ts';
import {
  createThread,
  inputFor,
  lookAtGraph,
  runGraph,
  searchGraphs,
  type GraphLook,
} from './ask.ts';
import { lastLines, planInstall, runCommand, type ProjectPlace } from './install.ts';
import { startModels } from './model-stand-in.ts';

const HELP = `public: tries projects as they are: cloned, installed by their own lock files, and served by gx dev

Usage: node test/projects/public.ts [options] <project> ...

A project is owner/name of GitHub, an address that git clones, or a folder of this machine, which is copied. "#path" behind it
names the langgraph.json, or its folder; else the one nearest to the root counts. "langchain-ai/memory-agent", for example, or
"https://git.example.com/team/agents.git#apps/chat".

  --list FILE        more projects, one a line; lines that begin with # are comments
  --work FOLDER      keeps clones and packages there, and uses those that it has; by default they are removed after each project
  --env NAME=VALUE   a variable of gx dev; may be repeated
  --headers JSON     headers of each request, such as those that a project's auth asks for
  --install SECONDS  how long the packages of a project may take (default 900)
  --start SECONDS    how long a start may take (default 180)
  --table FILE       writes the table there as Markdown, too
  --no-models        models are asked where the project asks them; by default a stand-in on this machine answers in place of OpenAI,
                     Anthropic, Google and Ollama, by keys that open nothing

For each project it prints whether gx dev started, its graphs, whether each has schemas and a drawing, how a first and a second
run on one thread ended with an input made from the schema, and the first fault with its words. It ends with 1 if a project has
a fault, and with 2 if its own arguments have.

Code of the projects runs on this machine: try only what you trust. git, npm and python3 must be there, and a way to the registries.
`;

const OPTIONS = {
  list: { type: 'string' },
  work: { type: 'string' },
  env: { type: 'string', multiple: true },
  headers: { type: 'string', default: '{}' },
  install: { type: 'string', default: '900' },
  start: { type: 'string', default: '180' },
  table: { type: 'string' },
  'no-models': { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

/** A project as it was named, and the path of its langgraph.json where that was named, too. */
type Named = { name: string; config: string | undefined };

type Settings = {
  projects: Named[];
  work: string | undefined;
  env: Record<string, string>;
  headers: Record<string, string>;
  installSeconds: number;
  startSeconds: number;
  table: string | undefined;
  hasModels: boolean;
};

const parse = (args: string[]) => parseArgs({ args, options: OPTIONS, allowPositionals: true });

function readSettings(args: string[]): Settings | undefined {
  let parsed: ReturnType<typeof parse>;
  try {
    parsed = parse(args);
  } catch (error) {
    throw new UsageError(`public: ${(error as Error).message} See --help.`);
  }
  const { values, positionals } = parsed;
  if (values.help) return undefined;
  const projects = [...positionals, ...(values.list === undefined ? [] : linesOf(values.list))].map(
    namedProject,
  );
  if (projects.length === 0)
    throw new UsageError('public: name at least one project, or a --list of them. See --help.');
  return {
    projects,
    work: values.work && resolve(values.work),
    env: Object.fromEntries((values.env ?? []).map(namedVariable)),
    headers: headersOf(values.headers),
    installSeconds: secondsOf('install', values.install),
    startSeconds: secondsOf('start', values.start),
    table: values.table,
    hasModels: !values['no-models'],
  };
}

function linesOf(file: string): string[] {
  if (!existsSync(file)) throw new UsageError(`public: --list names ${file}, which is not there.`);
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.map((line) => line.trim()).filter((line) => line !== '' && !line.startsWith('#'));
}

function namedProject(text: string): Named {
  const [name = '', config] = text.split('#');
  return { name, config };
}

function namedVariable(text: string): [string, string] {
  const [, name, value] = /^(\w+)=(.*)$/s.exec(text) ?? [];
  if (name === undefined || value === undefined)
    throw new UsageError(`public: --env is NAME=VALUE, not "${text}".`);
  return [name, value];
}

function headersOf(text: string): Record<string, string> {
  try {
    return JSON.parse(text) as Record<string, string>;
  } catch {
    throw new UsageError(
      `public: --headers is an object of JSON, such as {"authorization": "Bearer x"}, not ${text}.`,
    );
  }
}

function secondsOf(name: string, text: string): number {
  const seconds = Number(text);
  if (!Number.isInteger(seconds) || seconds < 1)
    throw new UsageError(`public: --${name} is a whole number of seconds, not "${text}".`);
  return seconds;
}

/** What is found out of a project; a cell that nobody came to is empty. */
type Row = {
  project: string;
  started: string;
  graphs: string;
  schemas: string;
  drawing: string;
  run: string;
  fault: string;
};

const HEAD: readonly (keyof Row)[] = [
  'project',
  'started',
  'graphs',
  'schemas',
  'drawing',
  'run',
  'fault',
];

type Way = { settings: Settings; env: Record<string, string> };

async function tryProject({ name, config }: Named, { settings, env }: Way): Promise<Row> {
  const row: Row = {
    project: name + (config === undefined ? '' : `#${config}`),
    started: '',
    graphs: '',
    schemas: '',
    drawing: '',
    run: '',
    fault: '',
  };
  const work = settings.work ?? mkdtempSync(join(tmpdir(), 'gx-public-'));
  try {
    const root = await step(row, 'clone', () => cloneProject(name, work));
    const place = await step(row, 'langgraph.json', () => ({
      root,
      config: configIn(root, config),
    }));
    await step(row, 'install', () => installPackages(place, settings));
    const server = await step(
      row,
      'start',
      () => startProject(place, { settings, env }),
      'started',
    );
    try {
      await askProject(server, place, { row, headers: settings.headers });
    } finally {
      await server.stop();
    }
  } catch (error) {
    row.fault ||= (error as Error).message;
  } finally {
    if (settings.work === undefined) await rm(work, { recursive: true, force: true });
  }
  return row;
}

/** Does a step, and notes its time, or which one failed. */
async function step<T>(
  row: Row,
  name: string,
  work: () => Promise<T> | T,
  cell?: keyof Row,
): Promise<T> {
  const started = performance.now();
  try {
    const result = await work();
    if (cell !== undefined) row[cell] = formatSecondsSince(started);
    printLine(`    ${name}: ${formatSecondsSince(started)}`);
    return result;
  } catch (error) {
    const words = findFirstFault((error as Error).message);
    printLine(
      `    ${name} failed after ${formatSecondsSince(started)}: ${(error as Error).message.trim()}`,
    );
    if (cell !== undefined) row[cell] = 'no';
    row.fault ||= `${name}: ${words}`;
    throw error;
  }
}

/** Returns the line of an output that tells most: the last one that is no line of a log. */
function findFirstFault(output: string): string {
  const lines = output
    .trim()
    .split('\n')
    .filter((line) => line.trim() !== '');
  return (
    lines.findLast((line) => !/^(\{"level"|\s|\d\d:\d\d:\d\d )/.test(line)) ?? lastLines(output)
  ).slice(0, 400);
}

async function cloneProject(name: string, work: string): Promise<string> {
  const root = join(work, basename(name).replace(/\.git$/, ''));
  if (existsSync(root)) return root;
  mkdirSync(work, { recursive: true });
  if (existsSync(name)) {
    if (!statSync(name).isDirectory()) throw new Error(`${name} is no folder`);
    cpSync(name, root, {
      recursive: true,
      filter: (source) => !/\/(node_modules|\.venv|\.gx)$/.test(source),
    });
    return root;
  }
  const address = /^[\w.-]+\/[\w.-]+$/.test(name) ? `https://github.com/${name}.git` : name;
  await promisify(execFile)('git', ['clone', '--quiet', '--depth', '1', address, root], {
    env: { ...process.env, GIT_TERMINAL_PROMPT: '0' },
  });
  return root;
}

/** Returns the path of the project's langgraph.json. */
function configIn(root: string, named: string | undefined): string {
  if (named !== undefined) {
    const config = [named, join(named, 'langgraph.json'), join(named, 'gx.json')].find(
      (each) => existsSync(join(root, each)) && each.endsWith('.json'),
    );
    if (config === undefined) throw new Error(`there is no langgraph.json in ${named}`);
    return config;
  }
  const depth = (file: string): number => file.split('/').length;
  const found = globSync('**/langgraph.json', {
    cwd: root,
    exclude: ['**/node_modules', '**/.venv'],
  });
  const [first] = found.toSorted(
    (one, other) => depth(one) - depth(other) || one.localeCompare(other),
  );
  if (first === undefined) throw new Error('the project has no langgraph.json');
  return first;
}

/** A file beside langgraph.json that says that its packages are there. */
const WHOLE = '.gx-installed';

async function installPackages(place: ProjectPlace, { installSeconds }: Settings): Promise<void> {
  const mark = join(place.root, dirname(place.config), WHOLE);
  if (existsSync(mark)) return;
  installTools();
  for (const command of planInstall(place, { tools: TOOLS, uv: installUv() })) {
    printLine(`    ${command.run.map((word) => basename(word)).join(' ')}`);
    await runCommand(command, installSeconds);
  }
  writeFileSync(mark, '');
}

const startProject = ({ root, config }: ProjectPlace, { settings, env }: Way): Promise<DevServer> =>
  startDev({
    args: basename(config) === 'langgraph.json' ? [] : ['--config', basename(config)],
    folder: join(root, dirname(config)),
    env: { ...env, ...settings.env },
    seconds: settings.startSeconds,
  });

type Noted = { row: Row; headers: Record<string, string> };

async function askProject(
  server: DevServer,
  { root, config }: ProjectPlace,
  { row, headers }: Noted,
): Promise<void> {
  const graphs = readGraphsFile(join(root, config)).graphs.map(({ graphId }) => graphId);
  row.graphs = String(graphs.length);
  const shown = await step(row, 'search', () => searchGraphs(server.url, headers));
  const unseen = graphs.filter((graph) => !shown.includes(graph));
  if (unseen.length > 0) {
    row.graphs = `${graphs.length - unseen.length} of ${graphs.length}`;
    row.fault ||= `a search does not show ${unseen.join(', ')}: give --headers that the project's auth accepts`;
  }
  const looks: GraphLook[] = [];
  for (const graph of graphs)
    looks.push(await step(row, `look at ${graph}`, () => lookAtGraph(server.url, graph, headers)));
  for (const cell of ['schemas', 'drawing'] as const) {
    const faulty = looks.filter(({ faults }) => faults[cell] !== undefined);
    row[cell] = faulty.length === 0 ? 'ok' : `${faulty.length} of ${looks.length} fail`;
    const [first] = faulty;
    if (first !== undefined) row.fault ||= `${cell} of ${first.graph}: ${first.faults[cell]}`;
  }
  const unserved = /NOT SERVED until its file is fixed: .*/.exec(server.output())?.[0];
  if (unserved !== undefined) row.fault ||= unserved;
  const ends: string[] = [];
  for (const look of looks) ends.push(await runTwice(server.url, look, { row, headers }));
  row.run = ends.join(', ');
}

/** Runs a graph twice on a thread, and returns how that ended. */
async function runTwice(
  url: string,
  { graph, input: schema }: GraphLook,
  { row, headers }: Noted,
): Promise<string> {
  const input = inputFor(schema);
  const thread = await createThread(url, headers);
  for (const turn of ['first', 'second']) {
    const started = performance.now();
    const run = await runGraph(url, thread, { graph, input, headers }).catch((error: Error) => ({
      fault: error.message,
    }));
    const fault = 'fault' in run ? run.fault : emptyFault(run.values);
    printLine(`    ${turn} run of ${graph}: ${fault ?? 'ok'} after ${formatSecondsSince(started)}`);
    if (fault === undefined) continue;
    row.fault ||= `${turn} run of ${graph}: ${findFirstFault(fault)}`;
    return `${turn} fails`;
  }
  return 'ok, ok';
}

const emptyFault = (values: unknown): string | undefined =>
  values === null || JSON.stringify(values) === '{}' ? 'it ended without values' : undefined;

/** Returns the rows as a table of Markdown, whose cells are as wide as their columns in a terminal. */
function tableOf(rows: Row[]): string {
  const lines = [
    HEAD as readonly string[],
    ...rows.map((row) => HEAD.map((name) => row[name].replaceAll(/[|\n]/g, ' '))),
  ];
  const widths = HEAD.map((_, column) =>
    Math.min(40, Math.max(...lines.map((line) => line[column]!.length))),
  );
  const shown = lines.map(
    (line) => `| ${line.map((cell, column) => cell.padEnd(widths[column]!)).join(' | ')} |`,
  );
  return [
    shown[0],
    `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`,
    ...shown.slice(1),
  ].join('\n');
}

async function main(): Promise<void> {
  const settings = readSettings(process.argv.slice(2));
  if (settings === undefined) return printLine(HELP);
  const models = settings.hasModels ? await startModels() : undefined;
  const rows: Row[] = [];
  try {
    for (const [index, named] of settings.projects.entries()) {
      printLine(
        `==> ${named.name}${named.config === undefined ? '' : `#${named.config}`} (${index + 1} of ${settings.projects.length})`,
      );
      rows.push(await tryProject(named, { settings, env: models?.env ?? {} }));
    }
  } finally {
    await models?.stop();
  }
  const table = tableOf(rows);
  printLine(`\n${table}\n`);
  if (settings.table !== undefined) writeFileSync(settings.table, `${table}\n`);
  const faulty = rows.filter(({ fault }) => fault !== '').length;
  printLine(`${rows.length - faulty} of ${rows.length} projects work as they are.`);
  if (faulty > 0) process.exitCode = 1;
}

await runMain(main);
