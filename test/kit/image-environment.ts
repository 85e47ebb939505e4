import { readFileSync } from 'node:fs';
import { join } from 'node:path';

type Image = 'gx-platform' | 'gx-agent-server';

/** Returns the environment that an image of the Dockerfile in `folder`, a checkout, gives its program. */
export function imageEnvironment(image: Image, folder = '.'): Record<string, string> {
  const dockerfile = readFileSync(join(folder, 'Dockerfile'), 'utf8');
  const [, stage = ''] = dockerfile.split(new RegExp(`^FROM \\S+ AS ${image}$`, 'm'));
  const words = /^ENV (.+)$/m.exec(stage.split(/^FROM /m)[0] ?? '')?.[1];
  if (words === undefined) throw new Error(`The Dockerfile gives ${image} no environment.`);
  return Object.fromEntries(
    [...words.matchAll(/(\w+)=(?:"([^"]*)"|(\S*))/g)].map(([, name = '', quoted, plain]) => [name, quoted ?? plain ?? '']),
  );
}

/** Returns the part of it that is the same on every machine: how Node and the C library use memory. */
export const memorySettings = (image: Image, folder?: string): Record<string, string> =>
  Object.fromEntries(Object.entries(imageEnvironment(image, folder)).filter(([name]) => /^(NODE_OPTIONS$|MALLOC_)/.test(name)));
