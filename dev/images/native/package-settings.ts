import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { readDevConfig } from '../../env.ts';
import { runProcess } from '../../commands.ts';
import { buildPipFile } from './pip-file.ts';

const SYSTEM_CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt';
/** Where the Dockerfile mounts the secret with the certificates. */
const LENT_CERTIFICATES = '/run/npm-certificates.crt';
const LENT_CACHE = '/run/npm-cache';

type Lent = { withCache: boolean };

/**
 * Calls `work` with options of a build that let npm and pip in it reach the same servers as on this machine: their
 * registries, credentials and certificates come as secrets, which do not get into the image. Only buildah can also lend
 * npm's package cache.
 */
export async function runWithPackageSettings(
  { withCache }: Lent,
  work: (options: string[]) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'gx-packages-'));
  try {
    const [npmrc, pip, certificates] = [
      join(folder, 'npmrc'),
      join(folder, 'pip.conf'),
      join(folder, 'certificates.crt'),
    ];
    const [registry, cafile, cache] = await Promise.all(
      ['registry', 'cafile', 'cache'].map(readNpmSetting),
    );
    const trusted = [SYSTEM_CERTIFICATES, readDevConfig().certificates, cafile].filter(isFile);
    await writeFile(certificates, await joinFiles(trusted));
    const lentCache = withCache && isFile(cache) ? cache : undefined;
    const lines = [
      registry && `registry=${registry}`,
      trusted.length > 0 && `cafile=${LENT_CERTIFICATES}`,
      lentCache && `cache=${LENT_CACHE}`,
    ].filter(Boolean);
    await writeFile(
      npmrc,
      [await joinFiles([join(homedir(), '.npmrc')].filter(isFile)), ...lines, ''].join('\n'),
      { mode: 0o600 },
    );
    await writeFile(pip, await buildPipFile(trusted.length > 0 ? LENT_CERTIFICATES : undefined), {
      mode: 0o600,
    });
    const secrets = { npmrc, pip, 'npm-certificates': certificates };
    const options = Object.entries(secrets).flatMap(([id, file]) => [
      '--secret',
      `id=${id},src=${file}`,
    ]);
    await work([
      ...options,
      ...(lentCache === undefined ? [] : ['--volume', `${lentCache}:${LENT_CACHE}`]),
    ]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const isFile = (path: string | undefined): path is string => path !== undefined && existsSync(path);

async function joinFiles(files: readonly string[]): Promise<string> {
  return (await Promise.all([...new Set(files)].map((file) => readFile(file, 'utf8')))).join('\n');
}

/** Returns a setting of npm on this machine, if it is set. */
export async function readNpmSetting(name: string): Promise<string | undefined> {
  const value = (await runProcess('npm', ['config', 'get', name])).trim();
  return ['', 'null', 'undefined'].includes(value) ? undefined : value;
}
