import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { bundlePage, writePage } from '../../../dev/console/bundle.ts';
import { chromium } from '../chromium.ts';
import { packages } from '../packages.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The browser's program, the folder of its driver, and that of the built page. */
    console: { chromium: string; packages: string; page: string };
  }
}

/** All tests of the folder share a browser and one build of the page. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const page = mkdtempSync(join(tmpdir(), 'gx-console-page-'));
  writePage(await bundlePage(), page);
  project.provide('console', { chromium: await chromium(), packages: await packages(), page });
  return () => rm(page, { recursive: true, force: true });
}
