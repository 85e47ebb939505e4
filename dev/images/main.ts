import { parseArgs } from 'node:util';
import { runMain, printAside, formatSecondsSince } from '../steps.ts';
import { buildImages, chooseEngine } from './build.ts';
import { folders } from './folders.ts';
import { listImages } from './list.ts';

const formatUsage =
  (): string => `usage: node dev/images/main.ts [--engine docker|buildah] [image ...]

Builds the images that have changed; prints each one's name, reference and archive.
images: ${listImages()
    .map(({ name }) => name)
    .join(' ')} (by default all)
--engine  by default docker where Docker answers, else buildah, which takes its bases from Debian and npm packages
Archives and layers are kept in ${folders.cache()}; remove that folder to start again.
`;

async function main(): Promise<void> {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { engine: { type: 'string' }, help: { type: 'boolean', short: 'h' } },
  });
  if (values.help === true) return void process.stdout.write(formatUsage());
  const started = performance.now();
  const built = await buildImages({
    engine: await chooseEngine(values.engine),
    only: positionals,
    report: printAside,
  });
  for (const { name, reference, archive } of built)
    process.stdout.write(`${name} ${reference} ${archive}\n`);
  printAside(`${built.length} images after ${formatSecondsSince(started)}`);
}

await runMain(main);
