import { existsSync, globSync, readFileSync } from 'node:fs';

/**
 * The Debian mirror that this machine's apt uses: what is reachable from here is written there. None: debootstrap knows
 * its own.
 */
export function debianMirror(): string[] {
  const files = ['/etc/apt/sources.list', ...globSync('/etc/apt/sources.list.d/*.{sources,list}')].filter(existsSync);
  const mirror = mirrorIn(files.map((file) => readFileSync(file, 'utf8')).join('\n'));
  return mirror === undefined ? [] : [mirror];
}

/** The first archive address of apt's two notations that is Debian's main archive. */
function mirrorIn(sources: string): string | undefined {
  const addresses = sources
    .split('\n')
    .filter((line) => /^(URIs:|deb\s)/.test(line))
    .flatMap((line) => line.match(/https?:\/\/\S+/g) ?? []);
  return addresses.map((address) => address.replace(/\/+$/, '')).find((address) => address.endsWith('/debian'));
}
