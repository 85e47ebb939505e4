import { readFileSync } from 'node:fs';
import { join } from 'node:path';

type Image = 'gx-platform' | 'gx-agent-server';

/** Returns the environment that an image of the Dockerfile in `folder`, a checkout, gives its program. */
export function imageEnvironment(image: Image, folder = '.'): Record<string, string> {
  const words = wordsOf(readFileSync(join(folder, 'Dockerfile'), 'utf8'), image);
  if (words === undefined) throw new Error(`The Dockerfile gives ${image} no environment.`);
  return Object.fromEntries(
    [...words.matchAll(/(\w+)=(?:"([^"]*)"|(\S*))/g)].map(([, name = '', quoted, plain]) => [
      name,
      quoted ?? plain ?? '',
    ]),
  );
}

/** Returns the variables that a stage sets, or else those of the nearest stage below it that sets some. */
function wordsOf(dockerfile: string, stage: string): string | undefined {
  const [, below = '', lines = ''] =
    new RegExp(`^FROM (\\S+) AS ${stage}\n([^]*?)(?=^FROM |(?![^]))`, 'm').exec(dockerfile) ?? [];
  return below === '' ? undefined : (/^ENV (.+)$/m.exec(lines)?.[1] ?? wordsOf(dockerfile, below));
}

/** Returns the part of it that is the same on every machine: how Node and the C library use memory. */
export const memorySettings = (image: Image, folder?: string): Record<string, string> =>
  Object.fromEntries(
    Object.entries(imageEnvironment(image, folder)).filter(([name]) =>
      /^(NODE_OPTIONS$|MALLOC_)/.test(name),
    ),
  );
