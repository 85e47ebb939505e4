import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { Limiter } from './limiter.ts';
import type { Proxies } from './proxies.ts';
import { SharedAnswers } from './shared-answers.ts';

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
  /** The proxies through which this process asks others. */
  readonly proxies: Proxies | undefined;
  readonly #resolve: Resolve;
  readonly #asked = new SharedAnswers<LookupAddress[]>();
  readonly #turns = new Limiter(AT_A_TIME);

  constructor(proxies?: Proxies, resolve: Resolve = (host) => lookup(host, { all: true })) {
    this.proxies = proxies;
    this.#resolve = resolve;
  }

  addressesOf(host: string): Promise<LookupAddress[]> {
    return this.#asked.of(host, () => this.#turns.run(() => this.#resolve(host)));
  }
}
