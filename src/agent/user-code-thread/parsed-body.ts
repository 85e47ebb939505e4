/** What is used of a request of Hono. `bodyCache` is what it remembers of the body, by the form it was asked in. */
export type HonoRequest = {
  raw: Request;
  bodyCache: Record<string, Promise<unknown> | undefined>;
  json(): Promise<unknown>;
  arrayBuffer(): Promise<ArrayBuffer>;
};

/**
 * Has a request of Hono remember what was parsed of its body, so that what a middleware changes in it in place is there
 * for whoever comes next. Newer versions of Hono remember the text alone, and parse it anew each time.
 */
export class ParsedBody {
  readonly #req: HonoRequest;
  readonly #parse: () => Promise<unknown>;
  #kept: { json: Promise<unknown>; text: Promise<unknown> | undefined } | undefined;

  constructor(req: HonoRequest) {
    this.#req = req;
    this.#parse = req.json.bind(req);
    req.json = () => this.#json();
  }

  #json(): Promise<unknown> {
    const { bodyCache } = this.#req;
    this.forgetOlder();
    if (bodyCache['json'] !== undefined) return bodyCache['json'];
    const json = this.#parse();
    bodyCache['json'] = json;
    this.#kept = { json, text: bodyCache['text'] };
    // What is no JSON stays the text that it is.
    json.catch(() => this.#forget(json));
    return json;
  }

  /** Forgets what was parsed if a middleware has replaced the text since. */
  forgetOlder(): void {
    if (this.#kept !== undefined && this.#kept.text !== this.#req.bodyCache['text']) this.#forget(this.#kept.json);
  }

  #forget(json: Promise<unknown>): void {
    if (this.#req.bodyCache['json'] === json) delete this.#req.bodyCache['json'];
    this.#kept = undefined;
  }
}
