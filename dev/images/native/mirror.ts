import { existsSync, globSync, readFileSync } from 'node:fs';

/**
 * Returns the Debian mirror that this machine's apt uses, because it is known to be reachable. If empty, debootstrap
 * uses its own.
 */
export function readDebianMirror(): string[] {
  const files = [
    '/etc/apt/sources.list',
    ...globSync('/etc/apt/sources.list.d/*.{sources,list}'),
  ].filter(existsSync);
  const mirror = findMirror(files.map((file) => readFileSync(file, 'utf8')).join('\n'));
  return mirror === undefined ? [] : [mirror];
}

/** Returns the first address of Debian's main archive, in either of apt's two notations. */
function findMirror(sources: string): string | undefined {
  const addresses = sources
    .split('\n')
    .filter((line) => /^(URIs:|deb\s)/.test(line))
    .flatMap((line) => line.match(/https?:\/\/\S+/g) ?? []);
  return addresses
    .map((address) => address.replace(/\/+$/, ''))
    .find((address) => address.endsWith('/debian'));
}
