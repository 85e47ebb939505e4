import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { NO_REGISTRY } from '../../dev/images/registry.ts';

/*
 * A reader who types what our pages, examples, chart and messages say reaches nobody but us and those whom we mean: a
 * host, an image or a package that nobody owns yet is a stranger's tomorrow. Each name is of one of these kinds.
 */

const FILES = execFileSync(
  'git',
  ['ls-files', '--cached', '--others', '--exclude-standard', '--']
    .concat(['README.md', 'CONTRIBUTING.md', 'Dockerfile', 'docs', 'examples', 'charts', 'config'])
    .concat(['schemas', 'python', 'dev/images', 'dev/release', 'dev/run', 'src']),
  { encoding: 'utf8' },
)
  .split('\n')
  .filter((file) => /\.(md|ya?ml|json|toml|txt|tpl|sh|mjs|ts|py)$|Dockerfile$|mirror$/.test(file))
  .filter((file) => !/package-lock\.json$|image\/requirements\.(txt|in)$|docs\/openapi/.test(file));
const texts = FILES.map((file) => ({ file, text: readFileSync(file, 'utf8') }));

type Kinds = Record<string, RegExp>;
const isOfKind = (kinds: Kinds, name: string): boolean =>
  Object.values(kinds).some((kind) => kind.test(name));

/** Returns the names that are of no kind, each with its file. */
const findStrangers = (
  kinds: Kinds,
  find: (text: string, file: string) => string[],
  among = texts,
): string[] =>
  among.flatMap(({ file, text }) =>
    find(text, file)
      .filter((name) => !isOfKind(kinds, name))
      .map((name) => `${file}: ${name}`),
  );

const HOSTS: Kinds = {
  'nobody can own: RFC 2606 and 6761, and ICANN for .internal':
    /(^|\.)(example|invalid|test|internal|localhost)$|(^|\.)example\.(com|org|net)$/,
  'of the machine or the cluster itself':
    /(^|\.)cluster\.local$|\.(svc|gx-system|monitoring|observability)$|^\d+(\.\d+)+$/,
  'groups of APIs and prefixes of labels, which nothing looks up':
    /(^|\.)gx\.dev$|^meta\.helm\.sh$|^(consul\.hashicorp\.com|kuma\.io)$|(^|\.)(k8s|kubernetes|prometheus|cert-manager|haproxy|projectcontour|openshift|coreos|cnpg|istio|linkerd|traefik|fluxcd|argoproj|opencontainers|artifacthub|containerd|cncf)\.(io|com|org|dev)$|^(helm|keda)\.sh$|\.openshift\.io$|\.github\.io$|^postgresql\.cnpg\.io$/,
  'registries of packages and images':
    /^(registry\.npmjs\.org|pypi\.org|(registry-1\.|index\.)?docker\.io|ghcr\.io|files\.pythonhosted\.org)$/,
  'their makers are named beside them':
    /^((api\.|www\.)?github\.com|gitlab\.com|bitbucket\.org|argo-cd\.readthedocs\.io|json-schema\.org|www\.standardwebhooks\.com|smith\.langchain\.com|[\w.-]+\.amazonaws\.com|docs\.astral\.sh|cloudnative-pg\.io|api\.openai\.com|golang\.org|cyclonedx\.org|hono\.dev|pip\.pypa\.io|a2a-protocol\.org|docs\.ag-ui\.com)$/,
};

/** Hosts of URLs, and of what stands before a path. */
const findHosts = (text: string): string[] => [
  ...new Set(
    [
      ...text.matchAll(/\b[a-z][a-z0-9+]*:\/\/(?:[\w.-]+@)?([a-z0-9-]+(?:\.[a-z0-9-]+)+)/g),
      ...text.matchAll(
        /(?<![\w./@$}-])((?:[a-z0-9-]+\.)+(?:com|io|dev|org|net|ai|co|app|sh|local|internal|invalid|test))(?::\d+)?\/[a-z]/g,
      ),
    ].map(([, host = '']) => host),
  ),
];

const IMAGES: Kinds = {
  'nobody can own their host': new RegExp(
    `^(${NO_REGISTRY.replace('.', '\\.')}|[\\w.-]*example(\\.com)?)[/:]`,
  ),
  "the reader's own": /^\$|^(<|\{\{)|^ghcr\.io\/\$\{\{|^docker\.io\/(<organization>|\$\{|v1\/$)/,
  "Docker's official ones, whose names Docker gives": /^docker\.io\/library\/|^(debian|node)(:|$)/,
  // A name of one word is the engine's own image or, at Docker Hub, an official one.
  'built here by the Dockerfile':
    /^gx-[a-z-]+(:[\w.-]+)?$|^(base|npm|app|[a-z-]*-app|python-packages|scratch)$/,
  'their makers are known':
    /^docker\.io\/(gitea\/gitea|moby\/buildkit):|^ghcr\.io\/cloudnative-pg\//,
};

/** Images that a Dockerfile starts from, an object names, or a registry of the public has. */
const findImages = (text: string, file: string): string[] => [
  ...(file.endsWith('Dockerfile') || file.endsWith('.md')
    ? [...text.matchAll(/^FROM (?:--\S+ )?(\S+)/gm)].map(([, name = '']) => name)
    : []),
  ...[...text.matchAll(/^ARG (?:BASE|NPM|BUILDKIT|AGENT_SERVER|POSTGRES)=(\S+)/gm)].map(
    ([, name = '']) => name,
  ),
  ...(/\.(ya?ml|md|tpl)$/.test(file)
    ? [
        ...text.matchAll(
          /\b(?:image|imageUri|image_uri)"?: "?'?([a-z0-9$<{][^\s"',}]*[/:][^\s"',}]+)/g,
        ),
      ].map(([, name = '']) => name)
    : []),
  ...[
    ...text.matchAll(/\b(?:docker\.io|ghcr\.io|quay\.io|gcr\.io|public\.ecr\.aws)\/[^\s"'`),|]*/g),
  ].map(([name]) => name),
];

const PACKAGES: Kinds = {
  'files of the checkout or of a release': /[/\\]|\.(tgz|whl|txt|toml)$|^\.$|^-e$|^'?\.\[dev\]'?$/,
  "the reader's own": /^[<$]|\$\{/,
  'ours, once its file is installed beside it': /^gx-platform$/,
  "LangChain's":
    /^(@langchain\/(core|langgraph|langgraph-sdk|openai|anthropic)|langchain(-\w+)?|langgraph(-[\w-]+)?|managed-deepagents|mda|@assistant-ui\/[\w-]+)$/,
  'of makers who are known':
    /^(zod|debugpy|pytest|setuptools|esbuild|@modelcontextprotocol\/\w+|@ag-ui\/\w+|@a2a-js\/sdk|react|react-dom|psycopg(\[binary\])?|langgraph-cli)$/,
};

const toName = (word: string): string =>
  word.replaceAll(/^["'(]+|["').,;:]+$/g, '').replace(/(?<=.)(@|[<>=~!]=?).*$/, '');

/** Packages behind the commands that fetch one: each word that is no option. */
const findPackages = (text: string): string[] =>
  [
    ...text.matchAll(
      /\b(?:npm (?:install|i|add|exec|create)|npx|pnpm (?:add|dlx)|yarn (?:add|dlx)|pip install|uvx|pipx (?:run|install)|uv (?:add|pip install|tool (?:install|run)))((?: +[^\s`&|#;)]+)+)/g,
    ),
  ].flatMap(([command, words = '']) => {
    const all = words.trim().split(/ +/);
    // What runs a package takes one name, and the program's own words behind it.
    const runs = /^(npx|uvx|pipx run|npm exec|pnpm dlx|yarn dlx)/.test(command);
    const from = all.indexOf('--from');
    if (runs && from >= 0) return [toName(all[from + 1] ?? '')];
    const named = all.filter((word) => !word.startsWith('-')).map(toName);
    return runs ? named.slice(0, 1) : named;
  });

/** Files in which a command is written out, and no sentence about it. */
const typed = texts.filter(({ file }) => !/\.(ts|py)$/.test(file));
const fenced = typed.map(({ file, text }) => ({
  file,
  text: file.endsWith('.md')
    ? [...text.matchAll(/^```[\s\S]*?^```|`[^`\n]+`/gm)]
        .map(([code]) => code)
        // Quoted messages leave words out, and go on in a sentence.
        .filter((code) => code.startsWith('```') || !code.includes('... '))
        .join('\n')
    : text,
}));

test('each host is of a kind that no stranger can take', () => {
  expect(texts.length).toBeGreaterThan(300);
  expect(findStrangers(HOSTS, findHosts)).toEqual([]);
});

test('each image is of such a kind', () => {
  expect(findStrangers(IMAGES, findImages)).toEqual([]);
});

test('each package that a command fetches is of such a kind', () => {
  expect(fenced.flatMap(({ text }) => findPackages(text)).length).toBeGreaterThan(20);
  expect(findStrangers(PACKAGES, findPackages, fenced)).toEqual([]);
});

test('each package that a project of the examples asks for is of such a kind', () => {
  const found = texts.flatMap(({ file, text }) => {
    if (!file.startsWith('examples/')) return [];
    if (file.endsWith('package.json')) {
      const { dependencies = {}, devDependencies = {} } = JSON.parse(text) as Record<
        string,
        object
      >;
      return Object.keys({ ...dependencies, ...devDependencies });
    }
    if (file.endsWith('requirements.txt')) return text.trim().split('\n').map(toName);
    const lists = file.endsWith('pyproject.toml') ? text.matchAll(/= \[(".*")\]$/gm) : [];
    return [...lists].flatMap(([, list = '']) =>
      (JSON.parse(`[${list}]`) as string[]).filter((name) => name !== '.').map(toName),
    );
  });
  expect(found.length).toBeGreaterThan(15);
  expect(found.filter((name) => !isOfKind(PACKAGES, name))).toEqual([]);
});

describe("a stranger's name is found", () => {
  test.each<[string, Kinds, string[]]>([
    ['an image', IMAGES, findImages('--image=docker.io/gx/gx-platform:1', 'a.yaml')],
    ['a base of an image', IMAGES, findImages('FROM somebody/agent', 'Dockerfile')],
    ['a host', HOSTS, findHosts('curl https://get.gx.sh/install')],
    ['a registry', HOSTS, findHosts('--set images.registry=images.gx.io/team')],
    ['a package of npm', PACKAGES, findPackages('npx gx dev')],
    ['a package of Python', PACKAGES, findPackages('pip install gx')],
  ])('%s', (_, kinds, names) => {
    expect(names).toHaveLength(1);
    expect(names.filter((name) => !isOfKind(kinds, name))).toEqual(names);
  });
});
