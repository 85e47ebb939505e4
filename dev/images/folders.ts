import { join } from 'node:path';
import { readDevConfig } from '../env.ts';

const cache = (): string => join(readDevConfig().cacheFolder, 'images');

export const folders = {
  cache,
  archive: (reference: string): string =>
    join(cache(), `${reference.split('/').at(-1)?.replace(':dev-', '-')}.tar`),
  rootfs: (key: string): string => join(cache(), `base-${key}.tar`),
  storage: (): string => join(cache(), 'storage'),
};
