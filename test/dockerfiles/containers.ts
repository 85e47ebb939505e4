import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import process from 'node:process';
import { Client } from '@langchain/langgraph-sdk';
import { buildImages } from '../../dev/images/build.ts';
import { getStoreOptions } from '../../dev/images/buildah.ts';
import { runProcess } from '../../dev/commands.ts';
import { freePort } from '../kit/agent-server.ts';
import { langgraphCli } from '../kit/langgraph-cli.ts';
import { freshDatabase } from '../kit/postgres.ts';
import { until } from '../kit/until.ts';

/* Images of Dockerfiles that the vendor's CLI writes, and containers of them, by buildah. */

/** The name that the CLI is given. It adds a tag: the version of Python, and the distribution. */
const BASE_IMAGE = 'localhost/gx-agent-server-cli';
const CERTIFICATES = '/run/lent-certificates.crt';
/** The variables by which uv, pip and npm find them. */
const LENT = ['SSL_CERT_FILE', 'NODE_EXTRA_CA_CERTS'];

const buildah = async (...args: string[]): Promise<string> =>
  runProcess('buildah', [...(await getStoreOptions()), ...args]);

/** Builds the base image and gives it the tags of `versions`. */
export async function baseImage(versions: readonly string[]): Promise<void> {
  const report = (line: string): void => void process.stdout.write(`${line}\n`);
  const [built] = await buildImages({ engine: 'buildah', only: ['gx-agent-server-cli'], report });
  for (const version of versions)
    await buildah('tag', built!.reference, `${BASE_IMAGE}:${version}`);
}

/** Takes the tags away again. */
export async function removeBaseImage(versions: readonly string[]): Promise<void> {
  for (const version of versions) await buildah('rmi', `${BASE_IMAGE}:${version}`);
}

export type Project = {
  folder: string;
  dockerfile: string;
  /** Folders of the repository outside of the project, by the names that the Dockerfile has for them. */
  contexts: Record<string, string>;
};

/** Writes a repository and has the CLI write its Dockerfile. `at` is the folder of langgraph.json. */
export async function projectOf(
  name: string,
  files: Readonly<Record<string, string>>,
  at = '',
): Promise<Project> {
  const root = join(mkdtempSync(join(tmpdir(), 'gx-dockerfile-')), name);
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), text);
  }
  const folder = join(root, at);
  const dockerfile = join(root, '..', 'Dockerfile');
  const told = await runProcess(
    langgraphCli.langgraph,
    ['dockerfile', '--base-image', BASE_IMAGE, dockerfile],
    { cwd: folder },
  );
  const contexts = [...told.matchAll(/--build-context (\S+?)=([^\s`]+)/g)].map(
    ([, context = '', place = '']) => [context, place],
  );
  return { folder, dockerfile, contexts: Object.fromEntries(contexts) as Record<string, string> };
}

/** Builds the image of a project's Dockerfile, to which the machine adds its certificates alone. */
export async function imageOf({ folder, dockerfile, contexts }: Project): Promise<string> {
  const image = `localhost/gx-dockerfile-test/${basename(folder)}:1`;
  const { SSL_CERT_FILE: certificates } = process.env;
  const lent = certificates === undefined ? [] : ['--volume', `${certificates}:${CERTIFICATES}:ro`];
  const found = LENT.map((name) => `ENV ${name}=${CERTIFICATES}`);
  const text = readFileSync(dockerfile, 'utf8');
  writeFileSync(
    dockerfile,
    certificates === undefined
      ? text
      : text.replace(/^FROM .*$/m, (from) => [from, ...found].join('\n')),
  );
  const others = Object.entries(contexts).flatMap(([name, place]) => [
    '--build-context',
    `${name}=${place}`,
  ]);
  const options = ['--isolation', 'chroot', '--pull=false', '--quiet', ...lent, ...others];
  await buildah('build', ...options, '--file', dockerfile, '--tag', image, folder);
  return image;
}

type Container = { url: string; client: Client; output(): string };

/** Starts a container of the image as its own entry point says, asks it, and removes both. */
export async function inContainer<T>(
  image: string,
  env: Record<string, string>,
  ask: (container: Container) => Promise<T>,
): Promise<T> {
  const port = await freePort();
  const database = await freshDatabase();
  const { OCIv1 } = JSON.parse(await buildah('inspect', '--type', 'image', image)) as {
    OCIv1: { config: { Entrypoint: string[] } };
  };
  const name = (await buildah('from', '--pull=false', image)).trim();
  const settings = Object.entries({
    DATABASE_URI: database.uri,
    GX_SERVER_PORT: String(port),
    ...Object.fromEntries(LENT.map((one) => [one, ''])),
    ...env,
  });
  const options = [
    '--isolation',
    'chroot',
    ...settings.flatMap(([key, value]) => ['--env', `${key}=${value}`]),
  ];
  const args = [
    ...(await getStoreOptions()),
    'run',
    ...options,
    name,
    '--',
    ...OCIv1.config.Entrypoint,
  ];
  const server = spawn('buildah', args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const closed = once(server, 'close');
  let output = '';
  for (const stream of [server.stdout, server.stderr])
    stream.on('data', (piece: Buffer) => (output += piece.toString()));
  const url = `http://127.0.0.1:${port}`;
  const answers = async (): Promise<boolean> =>
    server.exitCode !== null || (await fetch(`${url}/ok`).catch(() => undefined))?.ok === true;
  try {
    await until('the server in the container answers or has ended', answers, 60);
    return await ask({
      url,
      client: new Client({ apiUrl: url, apiKey: null, callerOptions: { maxRetries: 0 } }),
      output: () => output,
    });
  } catch (error) {
    throw new Error(`${String(error)}\n${output}`, { cause: error });
  } finally {
    server.kill('SIGTERM');
    await closed;
    await buildah('rm', name);
    await buildah('rmi', image);
    await database.drop();
  }
}

/** Removes the repository of a project. */
export const removeProject = ({ dockerfile }: Project): void =>
  rmSync(dirname(dockerfile), { recursive: true, force: true });
