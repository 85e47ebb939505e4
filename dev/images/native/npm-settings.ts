import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { devConfig } from '../../env.ts';
import { command } from '../../commands.ts';

const SYSTEM_CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt';
const LENT_CERTIFICATES = '/run/npm-certificates.crt';

/**
 * Calls `work` with options that let `npm` in a build reach what it reaches on this machine. The build uses this
 * machine's registry, credentials, certificates and package cache, and none of them gets into the image.
 */
export async function withNpmSettings(work: (options: string[]) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'gx-npmrc-'));
  try {
    const [npmrc, certificates] = [join(folder, 'npmrc'), join(folder, 'certificates.crt')];
    const [registry, cafile, cache] = await Promise.all(['registry', 'cafile', 'cache'].map(npmSetting));
    const trusted = [SYSTEM_CERTIFICATES, devConfig().certificates, cafile].filter(isFile);
    await writeFile(certificates, await joined(trusted));
    const lines = [registry && `registry=${registry}`, trusted.length > 0 && `cafile=${LENT_CERTIFICATES}`].filter(Boolean);
    await writeFile(npmrc, [await joined([join(homedir(), '.npmrc')].filter(isFile)), ...lines, ''].join('\n'), { mode: 0o600 });
    const volumes = [`${certificates}:${LENT_CERTIFICATES}:ro`, ...(isFile(cache) ? [`${cache}:/root/.npm`] : [])];
    await work(['--secret', `id=npmrc,src=${npmrc}`, ...volumes.flatMap((volume) => ['--volume', volume])]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const isFile = (path: string | undefined): path is string => path !== undefined && existsSync(path);

async function joined(files: readonly string[]): Promise<string> {
  return (await Promise.all([...new Set(files)].map((file) => readFile(file, 'utf8')))).join('\n');
}

/** Returns a setting of npm on this machine, if it is set. */
export async function npmSetting(name: string): Promise<string | undefined> {
  const value = (await command('npm', ['config', 'get', name])).trim();
  return ['', 'null', 'undefined'].includes(value) ? undefined : value;
}
