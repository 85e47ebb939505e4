import { readFileSync } from 'node:fs';

/** Returns the version of the platform that this process is of. */
export function readPlatformVersion(): string {
  const { version } = JSON.parse(
    readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
  ) as { version: string };
  return version;
}
