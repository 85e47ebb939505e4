import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installMissing } from '../../dev/cluster/debian.ts';
import { MissingRequirement } from '../../dev/errors.ts';
import { findExecutable } from '../../dev/executable.ts';
import { printLine } from '../../dev/steps.ts';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const HOW =
  'Install it (as root on Debian or Ubuntu: apt-get install chromium), or put its command on the PATH.';

const findChromium = (): string | undefined =>
  NAMES.map((name) => findExecutable(name)).find((path) => path !== undefined);

/** Returns the path of a Chromium. Root on Debian gets one installed when there is none. */
export async function chromium(): Promise<string> {
  const found = findChromium();
  if (found !== undefined) return found;
  const failure = await installMissing(
    [{ kind: 'debian', package: 'chromium', commands: ['chromium'] }],
    printLine,
  ).then(
    () => undefined,
    (error: unknown) => error,
  );
  const installed = findChromium();
  if (installed === undefined)
    throw new MissingRequirement(`There is no Chromium on this machine. ${HOW}`, {
      cause: failure,
    });
  return installed;
}

/** The parts of puppeteer-core that the tests use. It is not among the dependencies of this checkout. */
export type Browser = { newPage(): Promise<Page>; close(): Promise<void> };

export type Page = {
  goto(url: string): Promise<unknown>;
  reload(): Promise<unknown>;
  close(): Promise<void>;
  click(selector: string): Promise<void>;
  /** Types as a person does; `\n` is the Enter key. */
  type(selector: string, text: string): Promise<void>;
  evaluate<T>(script: string): Promise<T>;
  createCDPSession(): Promise<Session>;
  on(event: 'console', listener: (message: { text(): string }) => void): void;
  on(event: 'pageerror', listener: (error: Error) => void): void;
};

export type Session = {
  send(method: string, params?: object): Promise<unknown>;
  on(event: string, listener: (params: Record<string, unknown>) => void): void;
};

type Puppeteer = { launch(options: object): Promise<Browser> };

const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--disable-dev-shm-usage',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Starts a browser without a window and with an empty profile. `folder` is where puppeteer-core is installed. */
export async function launch(executablePath: string, folder: string): Promise<Browser> {
  const userDataDir = mkdtempSync(join(tmpdir(), 'gx-chromium-'));
  const path = createRequire(join(folder, 'package.json')).resolve('puppeteer-core');
  const { launch: start } = (await import(path)) as Puppeteer;
  const browser = await start({
    executablePath,
    userDataDir,
    args: FLAGS,
    protocolTimeout: 180_000,
  });
  return {
    newPage: () => browser.newPage(),
    close: async () => {
      await browser.close();
      await rm(userDataDir, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
