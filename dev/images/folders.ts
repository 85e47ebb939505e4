import { homedir } from 'node:os';
import { join } from 'node:path';

const cache = (): string => join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'gx-platform', 'images');

export const folders = {
  cache,
  archive: (reference: string): string => join(cache(), `${reference.split('/').at(-1)?.replace(':dev-', '-')}.tar`),
  rootfs: (key: string): string => join(cache(), `base-${key}.tar`),
  storage: (): string => join(cache(), 'storage'),
};
