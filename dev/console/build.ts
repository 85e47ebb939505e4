import process from 'node:process';
import { DevError } from '../errors.ts';
import { runMain, printLine } from '../steps.ts';
import { checkBudget, checkStudio, bundlePage, measurePackageGrowth, writePage } from './bundle.ts';

/** Builds the pages of the console and of `dev` into `dist`. With `--check` they are only built and measured. */
await runMain(async () => {
  for (const page of ['console', 'studio'] as const) {
    const built = await bundlePage(page);
    const { entry, all, styles } = built.sizes;
    printLine(
      `${page} page, gzip: ${entry} bytes before the first paint, ${all} in all, styles ${styles}`,
    );
    const faults = checkBudget(built.sizes);
    if (page === 'studio') {
      const growth = measurePackageGrowth(built);
      printLine(
        `studio page in the package for developers: ${growth.bytes} bytes, at most ${growth.most}`,
      );
      faults.push(...growth.faults, ...checkStudio(built.sizes));
    }
    if (faults.length > 0) throw new DevError(faults.join('\n'));
    // The studio comes from the reader's own machine, where nothing is gained by compression.
    if (!process.argv.includes('--check'))
      writePage(built, `dist/${page}`, { compressed: page === 'console' });
  }
});
