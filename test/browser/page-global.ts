import type { TestProject } from 'vitest/node';
import { bundlePage, writePage } from '../../dev/console/bundle.ts';
import { chromium } from './chromium.ts';
import { packages } from './packages.ts';
import { servePage } from './page-server.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The browser's program, the folder of the page's packages, and where the page is served. */
    browser: { chromium: string; packages: string; page: string };
  }
}

/** All tests of the folder share a browser, npm packages and the page. */
export default async function setup(project: TestProject): Promise<() => void> {
  const program = await chromium();
  const folder = await packages();
  // `dev` serves the studio from where a checkout builds it.
  writePage(await bundlePage('studio'), 'dist/studio', { compressed: false });
  const page = await servePage(folder);
  project.provide('browser', { chromium: program, packages: folder, page: page.url });
  return () => page.stop();
}
