import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { ImageBuildConfig } from '../../config/jobs/image-build.ts';
import { toError, StageFailed } from '../../errors.ts';
import { parseImageReference } from '../registry/reference.ts';
import { logLine, step } from '../progress.ts';
import { BASE_NAME } from './recipe.ts';
import { setTimeout as wait } from 'node:timers/promises';
import { runProgram, type ProgramEnd } from '../command.ts';
import { AUTHORITIES } from './dockerfile.ts';
import { formatDaemonSettings, buildSolveFailure, hasOwnUsers } from './output.ts';

type Setting = {
  config: ImageBuildConfig;
  signal: AbortSignal;
  folders: { state: string; image: string; kept: string };
  labels: Record<string, string>;
};
type Solving = {
  context: string;
  dockerfile: string;
  base: { folder: string; digest: string };
  cache?: string;
};

/** Milliseconds between two looks whether the daemon answers, and how often it is looked. */
const LOOK_MS = 200;
const LOOKS = 150;

export async function runBuildkit(setting: Setting, solving: Solving): Promise<void> {
  const { config, signal, folders } = setting;
  if (!hasOwnUsers(readFileSync('/proc/self/uid_map', 'utf8')))
    throw new StageFailed(
      'UserNamespacesOff',
      'The pod of this build has no user namespace (hostUsers: false had no effect), so its Dockerfile lines are not run: turn user namespaces on, or build without a Dockerfile.',
    );
  mkdirSync(folders.state, { recursive: true });
  const settings = path.join(folders.state, 'buildkitd.toml');
  writeFileSync(settings, formatDaemonSettings(config.registry.insecure ? listHosts(config) : []));
  const socket = `unix://${path.join(folders.state, 'buildkitd.sock')}`;
  const env = { PATH: config.path, HOME: folders.state, ...buildNetworkEnv(config) };
  const over = new AbortController();
  const stop = AbortSignal.any([signal, over.signal]);
  const run = [
    'buildkitd',
    '--config',
    settings,
    '--root',
    folders.state,
    '--addr',
    socket,
    '--oci-worker-binary',
    'runc',
  ] as const;
  const daemon = runProgram({ run, folder: '/', env, signal: stop }).catch((error: unknown) => ({
    code: 1,
    output: '',
    last: toError(error).message,
  }));
  try {
    await step('start BuildKit', () => waitForDaemon(socket, env, daemon, signal));
    const end = await step('run the Dockerfile', () =>
      runProgram({
        run: ['buildctl', '--addr', socket, ...buildArguments(setting, solving)],
        folder: '/',
        env,
        prefix: 'build',
        signal,
      }),
    );
    if (end.code !== 0) throw buildSolveFailure(end);
  } finally {
    over.abort();
    await daemon;
  }
}

const listHosts = ({ image, cacheImage, baseImage }: ImageBuildConfig): string[] => [
  ...new Set(
    [image, cacheImage, baseImage].flatMap((name) =>
      name === undefined ? [] : (parseImageReference(name)?.host ?? []),
    ),
  ),
];

/** BuildKit is written in Go, which looks for certificates in folders. */
function buildNetworkEnv({ network }: ImageBuildConfig): Record<string, string> {
  const { NODE_EXTRA_CA_CERTS: authorities, ...others } = network;
  return {
    ...others,
    ...(authorities && { SSL_CERT_DIR: `/etc/ssl/certs:${path.dirname(authorities)}` }),
  };
}

async function waitForDaemon(
  socket: string,
  env: Record<string, string>,
  daemon: Promise<ProgramEnd>,
  signal: AbortSignal,
): Promise<void> {
  let ended: ProgramEnd | undefined;
  for (let look = 0; look < LOOKS; look++) {
    const { code } = await runProgram({
      run: ['buildctl', '--addr', socket, 'debug', 'workers'],
      folder: '/',
      env,
      signal,
    });
    if (code === 0) return;
    ended = (await Promise.race([daemon, wait(LOOK_MS, undefined, { signal })])) ?? undefined;
    if (ended !== undefined) break;
  }
  logLine(ended?.output ?? '');
  throw new StageFailed(
    'BuildFailed',
    `BuildKit did not start. Its last lines: ${ended?.last ?? 'none'}`,
  );
}

function buildArguments(
  { config, folders, labels }: Setting,
  { context, dockerfile, base, cache }: Solving,
): string[] {
  const authorities = config.network['NODE_EXTRA_CA_CERTS'];
  const buildOption = (text: string): string[] => ['--opt', text];
  return [
    'build',
    '--progress=plain',
    '--frontend',
    'dockerfile.v0',
    '--local',
    `context=${context}`,
    '--local',
    `dockerfile=${path.dirname(dockerfile)}`,
    ...buildOption(`filename=${path.basename(dockerfile)}`),
    '--oci-layout',
    `gx-base=${base.folder}`,
    ...buildOption(`context:${BASE_NAME}=oci-layout://gx-base@${base.digest}`),
    ...buildOption(`build-arg:AGENT_SERVER=${BASE_NAME}`),
    ...Object.entries(labels).flatMap(([name, value]) => buildOption(`label:${name}=${value}`)),
    ...(authorities === undefined ? [] : ['--secret', `id=${AUTHORITIES.id},src=${authorities}`]),
    ...(cache === undefined ? [] : ['--import-cache', `type=local,src=${cache}`]),
    '--output',
    `type=oci,dest=${folders.image},tar=false`,
    '--export-cache',
    `type=local,dest=${folders.kept},mode=max`,
  ];
}
