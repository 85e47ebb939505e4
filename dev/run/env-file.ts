import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';

/** The file that `make run` leaves for scripts, in shell syntax: `. .run/env`. */
export const ENV_FILE = '.run/env';

/** Values that are known once an agent answers. */
export type FirstEnv = {
  CONTROL_PLANE_URL: string;
  /** The page for browsers. */
  CONSOLE_URL: string;
  API_KEY: string;
  AGENT_URL: string;
  AGENT_KEY: string;
  KUBECONFIG: string;
  KUBECTL: string;
  EXAMPLE_IMAGE: string;
};

/** Values that are known once builds from git can begin. */
export type GitEnv = {
  /** The repository, for `git clone` and `git push` from this machine. It holds a token. */
  GIT_URL: string;
  /** The same repository as the cluster knows it: `repo_url` of a deployment. */
  REPO_URL: string;
  GIT_INTEGRATION_ID: string;
  /** The registry of built images, from this machine. */
  REGISTRY: string;
};

const quoteValue = (value: string): string => `'${value.replaceAll("'", String.raw`'\''`)}'`;

/** Writes the file. Only its owner may read it, because it holds keys. */
export function writeEnvFile(env: FirstEnv & Partial<GitEnv>): void {
  mkdirSync('.run', { recursive: true });
  writeFileSync(
    ENV_FILE,
    Object.entries(env)
      .map(([name, value]) => `export ${name}=${quoteValue(value)}\n`)
      .join(''),
    { mode: 0o600 },
  );
}

const GIT_NAMES = [
  'GIT_URL',
  'REPO_URL',
  'GIT_INTEGRATION_ID',
  'REGISTRY',
] as const satisfies readonly (keyof GitEnv)[];

/** Returns the key of an earlier run, if there is one. */
export const readEarlierKey = (): string | undefined => readEarlierValue('API_KEY');

/** Returns the values for builds that an earlier run left, if its platform is this one: it knows this key. */
export function readEarlierGitEnv(key: string): Partial<GitEnv> {
  if (readEarlierKey() !== key) return {};
  return Object.fromEntries(
    GIT_NAMES.map((name) => [name, readEarlierValue(name)]).filter(
      ([, value]) => value !== undefined,
    ),
  );
}

function readEarlierValue(name: string): string | undefined {
  if (!existsSync(ENV_FILE)) return undefined;
  return new RegExp(`^export ${name}='([^']+)'$`, 'm').exec(readFileSync(ENV_FILE, 'utf8'))?.[1];
}
