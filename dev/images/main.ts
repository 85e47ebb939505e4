import { parseArgs } from 'node:util';
import { succeeds } from '../cluster/commands.ts';
import { seconds } from '../cluster/report.ts';
import { buildImages, type EngineName } from './build.ts';
import { folders } from './folders.ts';
import { images } from './list.ts';

const usage = `usage: node dev/images/main.ts [--engine docker|buildah] [image ...]

Builds the images that have changed; prints each one's name, reference and archive.
images: ${images()
  .map(({ name }) => name)
  .join(' ')} (by default all)
--engine  by default docker where Docker answers, else buildah, which takes its bases from Debian and npm packages
Archives and layers are kept in ${folders.cache()}; remove that folder to start anew.`;

async function engineOf(wish: string | undefined): Promise<EngineName> {
  if (wish === undefined) return (await succeeds('docker', ['info'])) ? 'docker' : 'buildah';
  if (wish === 'docker' || wish === 'buildah') return wish;
  throw new Error(`--engine is docker or buildah, not "${wish}".`);
}

async function main(): Promise<void> {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { engine: { type: 'string' }, help: { type: 'boolean', short: 'h' } },
  });
  if (values.help === true) {
    process.stdout.write(`${usage}\n`);
    return;
  }
  const started = Date.now();
  const report = (line: string) => process.stderr.write(`${line}\n`);
  const built = await buildImages({ engine: await engineOf(values.engine), only: positionals, report });
  process.stdout.write(built.map(({ name, reference, archive }) => `${name} ${reference} ${archive}\n`).join(''));
  report(`${built.length} images after ${seconds(started)}`);
}

await main().catch((error: Error) => {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
});
