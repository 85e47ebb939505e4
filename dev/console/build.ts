import process from 'node:process';
import { DevError } from '../errors.ts';
import { program, say } from '../steps.ts';
import { budgetFaults, bundlePage, writePage } from './bundle.ts';

const FOLDER = 'dist/console';

/** Builds the page of the console into `dist/console`. With `--check` it is only built and measured. */
await program(async () => {
  const built = await bundlePage();
  const { entry, all, styles } = built.sizes;
  say(`console page, gzip: ${entry} bytes before the first paint, ${all} in all, styles ${styles}`);
  const faults = budgetFaults(built.sizes);
  if (faults.length > 0) throw new DevError(faults.join('\n'));
  if (!process.argv.includes('--check')) writePage(built, FOLDER);
});
