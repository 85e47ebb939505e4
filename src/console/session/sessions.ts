import type { IncomingHttpHeaders } from 'node:http';
import type { EndOfSession, NotSignedIn } from '../../schema/wire/console-session.ts';
import { isHalfOver, KEPT_SECONDS, buildSession, parseSession } from './content.ts';
import { readCookie, setCookie, type SessionCookie } from './cookie.ts';
import type { Seal } from './seal.ts';

/** The session of a request: its key, and the cookie to give the browser if it is to last longer. */
export type OpenSession = { key: string; renewed: string | undefined };

const WORDS: Record<EndOfSession, string> = {
  ended: 'The session has ended; sign in again.',
  revoked: 'The API key of this session is not valid any more; sign in with another one.',
  signed_out: 'Nobody is signed in.',
};

/** Returns the answer to a request whose session is over. */
export const buildNotSignedIn = (reason: EndOfSession): NotSignedIn => ({
  detail: WORDS[reason],
  reason,
});

/** Makes sessions and reads them. Nothing is stored here: a session is a sealed cookie in the user's browser. */
export class BrowserSessions {
  readonly #seal: Seal;
  readonly #now: () => number;

  constructor(seal: Seal, now: () => number = Date.now) {
    this.#seal = seal;
    this.#now = now;
  }

  begin(cookie: SessionCookie, key: string): string {
    const content = JSON.stringify(buildSession(key, this.#now()));
    return setCookie(cookie, this.#seal.close(content, cookie.name), KEPT_SECONDS);
  }

  readSession(headers: IncomingHttpHeaders): OpenSession | Exclude<EndOfSession, 'revoked'> {
    const cookie = readCookie(headers);
    if (cookie === undefined) return 'signed_out';
    const content = parseSession(this.#seal.open(cookie.value, cookie.name), this.#now());
    if (content === undefined) return 'ended';
    return {
      key: content.key,
      renewed: isHalfOver(content, this.#now()) ? this.begin(cookie, content.key) : undefined,
    };
  }

  end(headers: IncomingHttpHeaders): string | undefined {
    const cookie = readCookie(headers);
    return cookie && setCookie(cookie, '', 0);
  }
}
