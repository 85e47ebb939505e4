import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';

/**
 * Names that are looked up at a time. Each takes one of the four threads that Node has for this and for files, for as
 * long as a name server keeps silent.
 */
const AT_A_TIME = 2;

export type Resolve = (host: string) => Promise<LookupAddress[]>;

/**
 * Resolves names as this machine does, few at a time. Callers who ask for one while it is looked up share the answer.
 */
export class Lookups {
  readonly #resolve: Resolve;
  readonly #asked = new Map<string, Promise<LookupAddress[]>>();
  readonly #waiting: (() => void)[] = [];
  #free = AT_A_TIME;

  constructor(resolve: Resolve = (host) => lookup(host, { all: true })) {
    this.#resolve = resolve;
  }

  addressesOf(host: string): Promise<LookupAddress[]> {
    const asked = this.#asked.get(host);
    if (asked !== undefined) return asked;
    const answer = this.#lookUp(host).finally(() => this.#asked.delete(host));
    this.#asked.set(host, answer);
    return answer;
  }

  async #lookUp(host: string): Promise<LookupAddress[]> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await this.#resolve(host);
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }
}
