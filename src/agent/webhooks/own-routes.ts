import { toError, Problem } from '../../errors.ts';
import { decideSendOutcome, type SendOutcome } from './outcome-rules.ts';

/** A webhook that stays within the process. `url` is a path, with its query. */
export type InsideCall = {
  url: string;
  headers: Record<string, string>;
  body: Uint8Array;
  signal: AbortSignal;
};

/** The application of `http.app`, as webhooks may call it. */
export type OwnRoutes = {
  /** Returns whether the path is a route of the application that takes a POST, and not one of the server. */
  mayBeCalled(path: string): boolean;
  /** Calls it, and returns how it begins to answer. Throws the error that refuses the call. */
  callRoute(
    call: InsideCall,
  ): Promise<{ status: number; headers: [name: string, value: string][] }>;
};

/** Returns true for a path, which stands for a route of the application instead of a URL. */
export const isOwnPath = (url: string): boolean => url.startsWith('/');

const BASE = 'http://localhost';

/** Where webhooks call the application of `http.app`, if gx.json itself lets them call this machine. */
export class OwnRouteTargets {
  readonly #rules: { permitted: boolean; maxLength: number };
  #routes: OwnRoutes | undefined;

  constructor(rules: { permitted: boolean; maxLength: number }) {
    this.#rules = rules;
  }

  /** From now on, the application is there. */
  serve(routes: OwnRoutes): void {
    this.#routes = routes;
  }

  /** Returns why a webhook may not call the path, as the end of a sentence; undefined when it may. */
  checkPath(path: string): string | undefined {
    const { permitted, maxLength } = this.#rules;
    if (!permitted) return 'must be an absolute URL: a webhook does not call routes of this server';
    if (path.length > maxLength) return `is longer than ${maxLength} characters`;
    const url = URL.parse(path, BASE);
    // A path in another spelling could be understood as something else elsewhere.
    if (url?.origin !== BASE || url.pathname + url.search !== path)
      return 'is not a plain path: it has . or .. or characters to encode';
    if (this.#routes?.mayBeCalled(url.pathname) === true) return undefined;
    return 'is not a route of http.app that takes a POST; a webhook does not call built-in routes';
  }

  /** Makes one call and returns its outcome; never fails. `whole`: milliseconds until there is an answer. */
  async sendPost(
    { url, headers, body }: { url: string; headers: Record<string, string>; body: string },
    { whole, signal }: { whole: number; signal: AbortSignal },
  ): Promise<SendOutcome> {
    const late = AbortSignal.timeout(whole);
    try {
      const call = {
        url,
        headers,
        body: Buffer.from(body),
        signal: AbortSignal.any([signal, late]),
      };
      const answer = await this.#routes!.callRoute(call);
      const afterSeconds = answer.headers.find(
        ([name]) => name.toLowerCase() === 'retry-after',
      )?.[1];
      return decideSendOutcome(answer.status, afterSeconds);
    } catch (error) {
      if (late.aborted)
        return {
          sent: false,
          problem: `did not answer within ${whole / 1000} seconds`,
          again: true,
        };
      if (error instanceof Problem) return decideSendOutcome(error.status);
      return { sent: false, problem: `could not be reached (${toError(error).name})`, again: true };
    }
  }
}
