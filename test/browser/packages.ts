import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runProcess } from '../../dev/commands.ts';
import { readDevConfig } from '../../dev/env.ts';
import { runLocked } from '../../dev/lock.ts';
import { printLine } from '../../dev/steps.ts';

/** The packages of a page that talks to the agent server, and those that drive the browser. */
const PACKAGES = {
  '@langchain/core': '1.4.0',
  '@langchain/langgraph-sdk': '1.11.0',
  '@langchain/react': '1.1.0',
  esbuild: '^0.28.2',
  'puppeteer-core': '25.16.0',
  react: '^19',
  'react-dom': '^19',
};

/** Installs them. Returns the folder. */
export const packages = (): Promise<string> => installed(PACKAGES);

/** Installs packages outside this checkout, once. Returns the folder. */
export async function installed(dependencies: Record<string, string>): Promise<string> {
  const list = JSON.stringify({ private: true, type: 'module', dependencies });
  const key = createHash('sha256').update(list).digest('hex').slice(0, 12);
  const folder = join(readDevConfig().cacheFolder, `test-browser-${key}`);
  const isComplete = join(folder, 'complete');
  await runLocked(
    `test-browser-${key}`,
    () => undefined,
    async () => {
      if (existsSync(isComplete)) return;
      printLine(`installing ${Object.keys(dependencies).join(', ')}`);
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, 'package.json'), list);
      await runProcess('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error'], {
        cwd: folder,
      });
      writeFileSync(isComplete, '');
    },
  );
  return folder;
}
