import { execFile } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import process from 'node:process';
import { promisify } from 'node:util';
import { parseAllDocuments } from 'yaml';
import type { Json } from '../../../src/schema/json.ts';
import { faultsOfResource } from './data.ts';
import {
  chartValues,
  definitionOf,
  faultsBy,
  faultsOfRequest,
  hasField,
  restApi,
  type Definition,
} from './schemas.ts';
import type { Call } from './shell.ts';

/* What may be wrong with a command of a page: a route, a field, a flag, a target or a file that is not there. */

const read = (file: string): string => readFileSync(file, 'utf8');
const sources = globSync('src/**/*.ts').map(read).join('\n');

/** Returns the word behind a flag (`-n team`, `--namespace=team`). */
function flag(args: string[], ...names: string[]): string | undefined {
  const at = args.findIndex((arg) => names.includes(arg));
  if (at >= 0) return args[at + 1];
  return args
    .find((arg) => names.some((name) => arg.startsWith(`${name}=`)))
    ?.replace(/^[^=]+=/, '');
}

export type Request = {
  method: string;
  url: URL;
  headers: Record<string, string>;
  body: string | undefined;
  at: string;
};

/** Returns the request that curl would send. */
export function requestOf({ args, at }: Call): Request {
  const body = flag(args, '-d', '--data');
  const headers = args.flatMap((arg, index) =>
    args[index - 1] === '-H' ? [arg.split(/: */, 2) as [string, string]] : [],
  );
  const method = flag(args, '-X') ?? (body === undefined ? 'GET' : 'POST');
  return {
    method,
    url: new URL(args.find((arg) => /^https?:/.test(arg)) ?? 'nowhere:'),
    headers: Object.fromEntries(headers),
    body,
    at,
  };
}

/** Says whether a request is for the REST API; the others are for an agent. */
export const isForRest = ({ url }: Request): boolean => /^\/v[12]\//.test(url.pathname);

function faultsOfCurl(call: Call): string[] {
  const request = requestOf(call);
  // A server answers the others.
  if (!isForRest(request)) return [];
  const hasKey = Object.keys(request.headers).some((name) => name.toLowerCase() === 'x-api-key');
  return [
    ...(hasKey ? [] : ['it has no X-Api-Key']),
    ...faultsOfRequest(restApi, { ...request, path: request.url.pathname }),
  ];
}

/** Kinds of Kubernetes, and of others, by the names that pages use. */
const KINDS =
  /^(pods?|secrets?|deployments?|deploy|nodes?|namespaces?|ns|events|pvc|jobs?|lease|svc|crd|configmaps?|networkpolicy|resourcequota|rolebinding|httproute|ingress|all|clusters\.postgresql\.cnpg\.io)$/;
const VERBS = [
  'get',
  'kustomize',
  'apply',
  'patch',
  'annotate',
  'label',
  'wait',
  'delete',
  'create',
  'logs',
  'exec',
  'describe',
  'run',
  'port-forward',
  'scale',
  'rollout',
];
/** What the chart calls its processes. */
const PROCESSES = ['gx-operator', 'gx-control-plane', 'gx-gateway', 'gx-console'];

/** Returns the kinds of objects that a command is about. */
function kindsOf(verb: string, [objects = '']: string[], args: string[]): string[] {
  const isAboutKinds = [
    'get',
    'patch',
    'annotate',
    'label',
    'wait',
    'delete',
    'describe',
    'scale',
  ].includes(verb);
  const comesByFile = args.some((arg) => ['-f', '-k'].includes(arg) || arg.startsWith('--raw'));
  return isAboutKinds && !comesByFile ? objects.split('/')[0]!.split(',') : [];
}

function faultsOfKubectl({ args: given, input }: Call): string[] {
  const end = given.indexOf('--');
  const args = end < 0 ? given : given.slice(0, end);
  const words = args.filter(
    (arg, at) =>
      !arg.startsWith('-') &&
      !/^(-n|-o|-l|-p|-f|-k|-c|--tail|--type|--from-literal|--cert|--key)$/.test(
        args[at - 1] ?? '',
      ),
  );
  const [verb = '', ...rest] = words;
  if (!VERBS.includes(verb)) return [`kubectl has no "${verb}"`];
  const faults: string[] = [];
  const kinds = kindsOf(verb, rest, args);
  for (const kind of kinds)
    if (!KINDS.test(kind) && definitionOf(kind) === undefined)
      faults.push(`nobody knows the kind "${kind}"`);
  const definition = kinds.length === 1 ? definitionOf(kinds[0]!) : undefined;
  faults.push(...faultsOfPatch(definition, flag(args, '-p'), flag(args, '--type')));
  if (definition !== undefined) faults.push(...faultsOfPaths(definition, args));
  if (args.includes('apply') && args.includes('-') && !isOfAProgram(input))
    faults.push(...parseAllDocuments(input).flatMap((one) => faultsOfResource(one.toJS() as Json)));
  const folder = verb === 'kustomize' ? rest[0] : flag(args, '-k');
  if (folder !== undefined && !existsSync(folder)) faults.push(`there is no ${folder}`);
  for (const arg of args) faults.push(...faultsOfNames(arg));
  if (end >= 0 && given[end + 1] === 'api-key') faults.push(...faultsOfKeys(given.slice(end + 2)));
  return faults;
}

/** Says whether a document comes from a program before, which only wrote down how it was called. */
const isOfAProgram = (input: string): boolean => /^(answer-\d+)?$/.test(input);

function faultsOfPatch(
  definition: Definition | undefined,
  text: string | undefined,
  type: string | undefined,
): string[] {
  if (definition === undefined || text === undefined) return [];
  let change: unknown;
  try {
    change = JSON.parse(text);
  } catch (error) {
    return [`${String(error)}: ${text}`];
  }
  if (type !== 'json') return faultsBy(definition.change, change);
  return (change as { path: string; value: unknown }[]).flatMap(({ path, value }) =>
    faultsBy(
      definition.change,
      path
        .split('/')
        .slice(1)
        .reduceRight<unknown>((inner, name) => ({ [name]: inner }), value),
    ),
  );
}

/** Fields that JSON paths and columns name, and the conditions that are waited for. */
function faultsOfPaths(definition: Definition, args: string[]): string[] {
  const paths = args.flatMap((arg) =>
    [...arg.matchAll(/(?<![\w@])\.((?:status|spec)(?:\.[A-Za-z]+)+)/g)].map(
      ([, path = '']) => path,
    ),
  );
  const condition = args.find((arg) => arg.startsWith('--for=condition='))?.split('=')[2];
  return [
    ...paths
      .filter((path) => !hasField(definition, path))
      .map((path) => `${definition.kind} has no ${path}`),
    ...(condition !== undefined && !sources.includes(`'${condition}'`)
      ? [`nothing states the condition ${condition}`]
      : []),
  ];
}

/** Labels and annotations of ours, and the names of our processes. */
function faultsOfNames(arg: string): string[] {
  const keys = [...arg.matchAll(/gx\.dev\/([a-z-]+)/g)].map(([, name = '']) => name);
  const [, , name] = /^(deploy|svc)\/(gx-.*)$/.exec(arg) ?? [];
  return [
    ...keys
      .filter((key) => !new RegExp(`/${key}(?![\\w-])`).test(sources))
      .map((key) => `nothing reads gx.dev/${key}`),
    ...(name !== undefined && !PROCESSES.includes(name) ? [`the chart has no ${name}`] : []),
  ];
}

const HELM_FLAGS = [
  '--namespace',
  '--create-namespace',
  '--reset-then-reuse-values',
  '--values',
  '--set',
  '--wait',
  '--force-conflicts',
  '--skip-tests',
];

function faultsOfHelm({ args }: Call): string[] {
  const [verb = '', , chart] = args;
  const faults = ['install', 'upgrade', 'rollback', 'uninstall', 'template'].includes(verb)
    ? []
    : [`helm has no "${verb}"`];
  if (chart?.startsWith('charts/') === true && !existsSync(`${chart}/Chart.yaml`))
    faults.push(`there is no ${chart}`);
  for (const arg of args)
    if (arg.startsWith('--') && !HELM_FLAGS.includes(arg.split('=')[0]!))
      faults.push(`nobody knows ${arg}`);
  for (const [at, arg] of args.entries()) {
    if (args[at - 1] !== '--set') continue;
    const [path = '', text = ''] = arg.split(/=(.*)/s);
    const value: unknown = /^\{.*\}$/.test(text) ? text.slice(1, -1).split(',') : text;
    const values = path
      .split('.')
      .reduceRight<unknown>((inner, name) => ({ [name]: inner }), value);
    faults.push(...faultsBy(chartValues, values));
  }
  return faults;
}

const targets = new Set([...read('Makefile').matchAll(/^([a-z-]+):/gm)].map(([, name]) => name));
const scripts = (JSON.parse(read('package.json')) as { scripts: Record<string, string> }).scripts;

/** The commands of our own programs; each lists its options where it is asked for help. */
const HELP = {
  'gx new': ['src/gx.ts', 'new', '--help'],
  'gx dev': ['src/gx.ts', 'dev', '--help'],
  'import-threads': ['src/main.ts', 'import-threads', '--help'],
  'reprice-usage': ['src/main.ts', 'reprice-usage', '--help'],
  'downgrade-check': ['src/main.ts', 'downgrade-check', '--help'],
  'agent-build': ['src/main.ts', 'agent-build', '--help'],
  builder: ['src/main.ts', 'builder', 'local', '--help'],
  'api-key': ['src/main.ts', 'api-key', '--help'],
  preview: ['examples/ci/preview.mjs', '--help'],
} as const;

const helps = new Map<string, string>();

/** Asks our programs for their options, which the checks below compare. */
export async function readHelps(): Promise<void> {
  const asked = Object.entries(HELP).map(async ([name, args]) => {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [...args], {
      timeout: 60_000,
    }).catch((error: { stdout: string; stderr: string }) => error);
    helps.set(name, stdout + stderr);
  });
  await Promise.all(asked);
}

const faultsOfOwn = (name: keyof typeof HELP, args: string[]): string[] =>
  args
    .filter((arg) => arg.startsWith('--'))
    .map((arg) => arg.split('=')[0]!)
    .filter((option) => !new RegExp(`${option}\\b`).test(helps.get(name) ?? ''))
    .map((option) => `${name} has no ${option}`);

function faultsOfKeys(args: string[]): string[] {
  const [verb = ''] = args;
  return [
    ...(['create', 'list', 'revoke'].includes(verb) ? [] : [`api-key has no "${verb}"`]),
    ...faultsOfOwn('api-key', args),
  ];
}

function faultsOfGx([command = '', ...args]: string[]): string[] {
  if (command === '--version') return [];
  return command === 'new' || command === 'dev'
    ? faultsOfOwn(`gx ${command}`, args)
    : [`gx has no "${command}"`];
}

/** Files that the reader of the tutorial writes: each block begins with the name of its file. */
const written = [...read('docs/tutorial.md').matchAll(/^\/\/ (\S+\.m?[jt]s)$/gm)].map(
  ([, name]) => name,
);

function faultsOfNode([file = '', command = '', ...args]: string[]): string[] {
  if (file === '--test') return faultsOfNode([command, ...args]);
  const place = file.replace(/^\/app\//, '');
  if (written.includes(place)) return [];
  if (!existsSync(place)) return [`there is no ${file}`];
  if (place === 'examples/ci/preview.mjs') return faultsOfOwn('preview', args);
  return command in HELP
    ? faultsOfOwn(command as keyof typeof HELP, args)
    : [`nobody knows the command "${command}"`];
}

function faultsOfNpm(args: string[]): string[] {
  const [verb = '', name = '', ...rest] = args;
  if (verb !== 'run')
    return ['install', 'init', 'pack', 'ci', 'prune'].includes(verb)
      ? []
      : [`npm has no "${verb}"`];
  return [
    ...(name in scripts ? [] : [`there is no script ${name}`]),
    ...(name === 'build-agent' ? faultsOfOwn('builder', rest) : []),
  ];
}

/** Programs of others, whose words a page may use as their makers say. */
const FOREIGN: Record<string, string> = {
  claude: "Anthropic's; it needs an account",
  cosign: "Sigstore's; make test-release verifies with the same keys",
  docker: 'make test-kind builds and runs with it',
  git: 'every developer has it; test/builds and test/builder push with it',
  jq: 'a filter of the output before it',
  langgraph: "LangChain's; make test-dockerfiles and test/control-plane speak its words",
  openssl: 'makes random text, or reads a certificate',
  pip: "Python's; make test-package-python installs the wheel",
  python3: "Python's; makes a virtual environment",
  sed: 'changes a file of the reader',
  sha256sum: 'compares the files of a release; make test-release does',
  skopeo: 'make test-air-gapped copies with the mirror',
  uuidgen: 'makes an id',
  uvx: 'runs a package of Python; test/builder/shapes/python-shapes.test.ts builds what it makes',
};

const CHECKS: Record<string, (call: Call) => string[]> = {
  curl: faultsOfCurl,
  kubectl: faultsOfKubectl,
  helm: faultsOfHelm,
  make: ({ args }) =>
    args.filter((target) => !targets.has(target)).map((target) => `there is no target ${target}`),
  npm: ({ args }) => faultsOfNpm(args),
  npx: ({ args: [name, ...args] }) =>
    name === 'gx-platform'
      ? faultsOfGx(args)
      : name === '@modelcontextprotocol/inspector'
        ? []
        : [`nobody knows ${name}`],
  gx: ({ args }) => faultsOfGx(args),
  node: ({ args }) => faultsOfNode(args),
  python: ({ args: [file = ''] }) => (existsSync(file) ? [] : [`there is no ${file}`]),
  sh: ({ args: [file = ''] }) =>
    file === 'mirror' || existsSync(file) ? [] : [`nobody knows ${file}`],
  'api-key': ({ args }) => faultsOfKeys(args),
};

/** Returns what is wrong with a command. */
export function faultsOfCall(call: Call): string[] {
  const check = CHECKS[call.program];
  const faults =
    check === undefined
      ? call.program in FOREIGN
        ? []
        : [`nobody knows the program`]
      : check(call);
  return faults.map(
    (fault) => `${call.at} ${call.program} ${call.args.join(' ').slice(0, 200)}: ${fault}`,
  );
}

/** Returns what is wrong with a Dockerfile. */
export function faultsOfDockerfile(text: string): string[] {
  const stages = new Set(
    [...read('Dockerfile').matchAll(/^FROM .* AS (\S+)$/gim)].map(([, name]) => name),
  );
  return text.split('\n').flatMap((line) => {
    const [word = '', ...rest] = line.split(' ');
    if (word === 'FROM') return stages.has(rest[0]) ? [] : [`the Dockerfile makes no ${rest[0]}`];
    if (word === 'COPY') return [];
    if (word !== 'RUN') return [`nobody knows the line ${line}`];
    return rest
      .join(' ')
      .split(' && ')
      .flatMap((command) => {
        const [program = '', ...args] = command.split(' ');
        if (program === 'node') return faultsOfNode(args);
        if (program === 'npm') return faultsOfNpm(args);
        return program === 'uv' ? [] : [`nobody knows the program ${program}`];
      });
  });
}

/** Returns what is wrong with expressions of Prometheus: figures that nothing reports. */
export function faultsOfQueries(text: string): string[] {
  const page =
    read('docs/reference/metrics.md') +
    read('docs/how-to/backups.md').replaceAll(/^```[\s\S]*?^```/gm, '');
  const figures = [...text.matchAll(/\b(gx_\w+|kubelet_\w+)/g)].map(([, name = '']) => name);
  if (figures.length === 0) return ['no figure stands in it'];
  return figures
    .filter(
      (name) => !name.startsWith('kubelet_') && !page.includes(name) && !sources.includes(name),
    )
    .map((name) => `nothing reports ${name}`);
}
