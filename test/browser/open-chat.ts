import { inject } from 'vitest';
import { until } from '../kit/until.ts';
import type { Browser, Page, Session } from './chromium.ts';

/** What the page received, in the order in which it came. */
export type Told = { seq: number; id: string; method: string };

/** `words`, `pause` and `asks` say what the graph does (see its state). */
type Opened = {
  api: string;
  input: { words: number; pause: number; asks: boolean };
  transport?: 'sse' | 'websocket';
  thread?: string;
  chats?: number;
  record?: true;
  channels?: true;
};

/** Returns all words of an answer that has so many. */
export const answerOf = (words: number): string =>
  Array.from({ length: words }, (_, at) => `word${at}`).join(' ');

/** The page with one chat or several, in a tab of its own. */
export class OpenChat {
  readonly page: Page;
  readonly session: Session;
  /** The event streams that are open, and the most that were open at a time. */
  readonly streams = { open: new Set<string>(), most: 0 };
  readonly failures: string[] = [];

  private constructor(page: Page, session: Session) {
    this.page = page;
    this.session = session;
  }

  static async open(browser: Browser, { input, ...rest }: Opened): Promise<OpenChat> {
    const page = await browser.newPage();
    const session = await page.createCDPSession();
    const chat = new OpenChat(page, session);
    page.on('pageerror', (error) => chat.failures.push(error.message));
    await chat.#watchStreams();
    const query = new URLSearchParams({ input: JSON.stringify(input) });
    for (const [name, value] of Object.entries(rest)) query.set(name, String(value));
    await page.goto(`${inject('browser').page}/?${query.toString()}`);
    await chat.until('the page is there', 'document.querySelector(".send") !== null');
    return chat;
  }

  async #watchStreams(): Promise<void> {
    await this.session.send('Network.enable');
    this.session.on('Network.requestWillBeSent', ({ requestId, request }) => {
      const { url, method } = request as { url: string; method: string };
      if (method !== 'POST' || !url.endsWith('/stream/events')) return;
      this.streams.open.add(requestId as string);
      this.streams.most = Math.max(this.streams.most, this.streams.open.size);
    });
    for (const end of ['Network.loadingFinished', 'Network.loadingFailed'])
      this.session.on(end, ({ requestId }) => this.streams.open.delete(requestId as string));
  }

  /** The messages of each chat, as `<type>: <text>`. */
  messages(): Promise<string[]> {
    return this.page.evaluate(
      '[...document.querySelectorAll("li")].map((li) => `${li.className}: ${li.textContent}`)',
    );
  }

  told(): Promise<Told[]> {
    return this.page.evaluate('window.told');
  }

  /** What each of the page's subscriptions shows. */
  channels(): Promise<Record<string, string>> {
    const script =
      '[...document.querySelectorAll(".channel")].map(({ dataset, textContent }) => [dataset.name, textContent])';
    return this.page
      .evaluate<[string, string][]>(script)
      .then((entries) => Object.fromEntries(entries));
  }

  async send(): Promise<void> {
    await this.page.evaluate(
      'document.querySelectorAll(".send").forEach((button) => button.click())',
    );
  }

  /** Waits until the script returns true in the page. */
  async until(what: string, script: string, seconds = 30): Promise<void> {
    const shown = (): Promise<string> => this.page.evaluate('document.body.innerText');
    await until(what, () => this.page.evaluate<boolean>(script), seconds).catch(
      async (error: Error) => {
        throw new Error(
          `${error.message}; the page shows: ${await shown()}; ${this.failures.join(', ')}`,
          { cause: error },
        );
      },
    );
  }

  close(): Promise<void> {
    return this.page.close();
  }
}
