import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { ImageBuildConfig } from '../../config/image-build.ts';
import { runProgram, type ProgramEnd } from '../command.ts';
import { shownCredential } from './credentials.ts';

export type Git = (args: string[], prefix?: string) => Promise<ProgramEnd>;

/** Settings that a repository can't change: it runs no program of its own, and names no other place to read from. */
const SAFE: Record<string, string> = {
  'core.hooksPath': '/dev/null',
  'core.fsmonitor': 'false',
  'core.protectHFS': 'true',
  'core.protectNTFS': 'true',
  'fetch.fsckObjects': 'false',
  'submodule.recurse': 'false',
  'protocol.allow': 'never',
  'advice.detachedHead': 'false',
  'init.defaultBranch': 'main',
  'gc.auto': '0',
  // Bytes a second and seconds: a host that falls silent does not hold the build.
  'http.lowSpeedLimit': '1000',
  'http.lowSpeedTime': '60',
  'http.followRedirects': 'initial',
};

const SYSTEM_CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt';

/** Git takes one file of certificates, so that further ones are joined with the system's. */
function certificates({ work, network }: ImageBuildConfig): Record<string, string> {
  const more = network['NODE_EXTRA_CA_CERTS'];
  if (more === undefined || !existsSync(more)) return {};
  const joined = path.join(work, 'certificates.crt');
  writeFileSync(
    joined,
    [SYSTEM_CERTIFICATES, more]
      .filter((file) => existsSync(file))
      .map((file) => readFileSync(file, 'utf8'))
      .join('\n'),
  );
  return { 'http.sslCAInfo': joined };
}

/** Returns git for one repository and its credential. It reads no settings of this machine. */
export function gitOf(folder: string, config: ImageBuildConfig, signal: AbortSignal): Git {
  const { git, network, work } = config;
  const url = git.url ?? '';
  const protocols = ['https', 'ssh', ...(git.insecure ? ['http'] : []), ...(git.local ? ['file'] : [])];
  const credential = shownCredential(git.credentials, url);
  const settings = Object.entries({
    ...SAFE,
    ...Object.fromEntries(protocols.map((name) => [`protocol.${name}.allow`, 'always'])),
    ...certificates(config),
    ...credential.config,
  });
  const env: Record<string, string> = {
    PATH: '/usr/local/bin:/usr/bin:/bin',
    HOME: work,
    LANG: 'C.UTF-8',
    ...network,
    ...credential.env,
    GIT_TERMINAL_PROMPT: '0',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ALLOW_PROTOCOL: protocols.join(':'),
    GIT_LFS_SKIP_SMUDGE: '1',
    GIT_CONFIG_COUNT: String(settings.length),
    ...Object.fromEntries(
      settings.flatMap(([key, value], at) => [
        [`GIT_CONFIG_KEY_${at}`, key],
        [`GIT_CONFIG_VALUE_${at}`, value],
      ]),
    ),
  };
  return (args, prefix) => runProgram({ run: ['git', ...args], folder, env, hidden: credential.hidden, signal, ...(prefix && { prefix }) });
}
