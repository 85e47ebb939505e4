import { inject } from 'vitest';
import { until } from '../../kit/until.ts';
import { launch, type Browser, type Page, type Session } from '../chromium.ts';
import { serveConsole, type ConsoleServer, type LogFeed, type Reach } from './console-server.ts';

/** A browser, and the page of the console for an API. */
export type ConsoleStage = {
  browser: Browser;
  server: ConsoleServer;
  open(path?: string): Promise<OpenConsole>;
  stop(): Promise<void>;
};

/** Serves the page for the API at an address, and starts a browser. `reach`: where the hosts of agents are. */
export async function openConsole(
  api: string,
  logs?: LogFeed,
  reach?: Reach,
): Promise<ConsoleStage> {
  const { chromium, packages, page } = inject('console');
  const server = await serveConsole({
    folder: page,
    api,
    ...(logs !== undefined && { logs }),
    ...(reach !== undefined && { reach }),
  });
  const browser = await launch(chromium, packages);
  return {
    browser,
    server,
    open: (path = '') => OpenConsole.open(browser, `${server.url}${path}`),
    stop: async () => {
      await browser.close();
      await server.stop();
    },
  };
}

/** The page of the console in a tab. It collects failures and what its policy refused. */
export class OpenConsole {
  readonly page: Page;
  readonly session: Session;
  readonly failures: string[] = [];

  private constructor(page: Page, session: Session) {
    this.page = page;
    this.session = session;
  }

  static async open(browser: Browser, url: string): Promise<OpenConsole> {
    const page = await browser.newPage();
    const session = await page.createCDPSession();
    const tab = new OpenConsole(page, session);
    page.on('pageerror', (error) => tab.failures.push(error.message));
    page.on('console', (message) => {
      if (/Content Security Policy|TrustedType|Trusted Type/.test(message.text()))
        tab.failures.push(message.text());
    });
    await page.goto(url);
    return tab;
  }

  /** Gives the window a size, in pixels. */
  async resize(width: number, height: number): Promise<void> {
    await this.session.send('Emulation.setDeviceMetricsOverride', {
      width,
      height,
      deviceScaleFactor: 1,
      mobile: false,
    });
  }

  /** Signs in with a key, on the page that asks for it. */
  async signIn(key: string): Promise<void> {
    await this.until('it asks for a key', `document.querySelector('[name=api_key]') !== null`);
    await this.page.type('[name=api_key]', `${key}\n`);
    await this.until('it is signed in', `document.querySelector('.top') !== null`);
  }

  /** All text of the page, as one sees it. */
  text(selector = 'body'): Promise<string> {
    return this.page.evaluate(
      `document.querySelector(${JSON.stringify(selector)})?.innerText ?? ''`,
    );
  }

  texts(selector: string): Promise<string[]> {
    return this.page.evaluate(
      `[...document.querySelectorAll(${JSON.stringify(selector)})].map((one) => one.innerText)`,
    );
  }

  /** Clicks the button or link of this text. */
  async press(text: string, within = 'body'): Promise<void> {
    const found = `[...(document.querySelector(${JSON.stringify(within)}) ?? document).querySelectorAll('button, a, summary, [role=tab]')]
      .find((one) => one.checkVisibility() && !one.disabled && (one.innerText.trim() === ${JSON.stringify(text)} || one.ariaLabel === ${JSON.stringify(text)}))`;
    await this.until(`"${text}" can be pressed`, `${found} !== undefined`);
    await this.page.evaluate(`${found}.click()`);
  }

  /** Presses keys one after the other. A word is typed. */
  async keys(...names: string[]): Promise<void> {
    for (const name of names) {
      const isNamed = /^(?:Tab|Enter|Escape|Arrow\w+)$/.test(name);
      for (const key of isNamed ? [name] : name) {
        const text = key === 'Enter' ? '\r' : isNamed ? undefined : key;
        const code = { Tab: 9, Enter: 13, Escape: 27 }[key];
        const event = {
          key,
          ...(text !== undefined && { text }),
          ...(code !== undefined && { windowsVirtualKeyCode: code }),
        };
        await this.session.send('Input.dispatchKeyEvent', {
          type: text === undefined ? 'rawKeyDown' : 'keyDown',
          ...event,
        });
        await this.session.send('Input.dispatchKeyEvent', { type: 'keyUp', ...event });
      }
    }
  }

  /** Waits until the script returns true in the page. */
  async until(situation: string, script: string, seconds = 30): Promise<void> {
    await until(situation, () => this.page.evaluate<boolean>(script), seconds).catch(
      async (error: Error) => {
        throw new Error(
          `${error.message}; the page shows: ${await this.text()}; ${this.failures.join(', ')}`,
          { cause: error },
        );
      },
    );
  }

  /** Waits until the page shows a text. */
  shows(text: string, seconds = 30): Promise<void> {
    return this.until(
      `it shows "${text}"`,
      `document.body.innerText.includes(${JSON.stringify(text)})`,
      seconds,
    );
  }

  /** Returns the faults that axe finds on the page as it is. */
  async accessibilityFaults(source: string): Promise<string[]> {
    await this.page.evaluate(source);
    const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];
    // Colours on their way from one theme to the other are nobody's to read.
    await this.page.evaluate(
      'document.getAnimations().forEach((one) => one instanceof CSSTransition && one.finish())',
    );
    return this.page.evaluate(
      `axe.run(document, { runOnly: ${JSON.stringify(tags)} }).then(({ violations }) =>
        violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html, failureSummary }) => html.slice(0, 200) + ' ' + failureSummary).slice(0, 3).join(' | ')))`,
    );
  }

  close(): Promise<void> {
    return this.page.close();
  }
}
