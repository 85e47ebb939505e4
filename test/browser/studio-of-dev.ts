import { afterAll, afterEach, beforeAll, beforeEach, inject } from 'vitest';
import { launch, type Browser } from './chromium.ts';
import { OpenConsole } from './console/open-console.ts';
import { startDev, type DevProject, type DevServer } from './dev-server.ts';

export type StudioOfDev = {
  readonly dev: DevServer;
  /** The tab of the test that runs. */
  readonly tab: OpenConsole;
  /** Opens an address in another tab, which its test closes. */
  open(address: string): Promise<OpenConsole>;
  /** Asks the server itself. */
  post<Answer>(path: string, body: object): Promise<Answer>;
};

type Options = {
  /** The part of the address after the path, with which each tab opens. */
  hash?: () => string;
  /** Milliseconds for the project. */
  patience?: number;
};

/**
 * Starts `dev` for the tests of a file, and opens its studio in a tab of its own for each of them. A test fails whose
 * page has failed, has run a script of the agent or has gone elsewhere.
 */
export function studioOfDev(
  project: () => DevProject | Promise<DevProject>,
  { hash = () => '', patience }: Options = {},
): StudioOfDev {
  let dev: DevServer;
  let browser: Browser;
  let tab: OpenConsole;
  beforeAll(async () => {
    dev = await startDev(await project());
    const { chromium, packages } = inject('browser');
    browser = await launch(chromium, packages);
  }, patience);
  afterAll(async () => {
    await browser?.close();
    await dev?.stop();
  });
  beforeEach(async () => {
    tab = await OpenConsole.open(browser, `${dev.url}/studio${hash()}`);
    await tab.resize(1280, 720);
  });
  afterEach(async () => {
    const { failures } = tab;
    if ((await tab.page.evaluate('window.hacked')) !== undefined)
      failures.push('a script of the agent ran');
    if (!(await tab.page.evaluate<string>('location.href')).startsWith(dev.url))
      failures.push('the page has gone elsewhere');
    await tab.close();
    if (failures.length > 0) throw new Error(`The page has failed: ${failures.join(', ')}`);
  });
  return {
    get dev() {
      return dev;
    },
    get tab() {
      return tab;
    },
    open: async (address) => {
      const other = await OpenConsole.open(browser, address);
      await other.resize(1280, 720);
      return other;
    },
    post: async <Answer>(path: string, body: object) => {
      const headers = { 'content-type': 'application/json' };
      const answer = await fetch(`${dev.url}${path}`, {
        method: 'POST',
        headers,
        body: JSON.stringify(body),
      });
      return (await answer.json()) as Answer;
    },
  };
}
