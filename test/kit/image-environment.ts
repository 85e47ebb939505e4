import { readFileSync } from 'node:fs';

/** Returns the environment that an image of the Dockerfile gives its program. */
export function imageEnvironment(image: 'gx-platform' | 'gx-agent-server'): Record<string, string> {
  const dockerfile = readFileSync('Dockerfile', 'utf8');
  const [, stage = ''] = dockerfile.split(new RegExp(`^FROM \\S+ AS ${image}$`, 'm'));
  const words = /^ENV (.+)$/m.exec(stage.split(/^FROM /m)[0] ?? '')?.[1];
  if (words === undefined) throw new Error(`The Dockerfile gives ${image} no environment.`);
  return Object.fromEntries(
    [...words.matchAll(/(\w+)=(?:"([^"]*)"|(\S*))/g)].map(([, name = '', quoted, plain]) => [name, quoted ?? plain ?? '']),
  );
}
