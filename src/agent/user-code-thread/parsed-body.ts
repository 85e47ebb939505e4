/** The used part of a request of Hono. `bodyCache` is its memory of the body, by the form it was asked in. */
export type HonoRequest = {
  raw: Request;
  bodyCache: Record<string, Promise<unknown> | undefined>;
  json(): Promise<unknown>;
  arrayBuffer(): Promise<ArrayBuffer>;
};

/**
 * Has a request of Hono remember its parsed body, so that the changes that a middleware makes in place are there
 * for the next handler. Newer versions of Hono remember the text alone, and parse it again each time.
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
    // A text that is not JSON stays as it is.
    json.catch(() => this.#forget(json));
    return json;
  }

  /** Forgets the parsed body if a middleware has replaced the text since. */
  forgetOlder(): void {
    if (this.#kept !== undefined && this.#kept.text !== this.#req.bodyCache['text']) this.#forget(this.#kept.json);
  }

  #forget(json: Promise<unknown>): void {
    if (this.#req.bodyCache['json'] === json) delete this.#req.bodyCache['json'];
    this.#kept = undefined;
  }
}
