import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import type { Proxies } from './proxies.ts';
import { SharedAnswers } from '../limits/shared-answers.ts';
import { TurnsByName } from '../limits/turns.ts';

/**
 * Names that are looked up at a time, in all and below one domain. Each takes one of the four threads that Node has for
 * this and for files, for as long as a name server keeps silent. So the servers of one domain hold up their own names.
 */
const AT_A_TIME = { all: 2, each: 1 };

export type Resolve = (host: string) => Promise<LookupAddress[]>;

/**
 * Resolves names as this machine does, few at a time. Callers who ask for one while it is looked up share the answer.
 */
export class Lookups {
  /** The proxies through which this process asks others. */
  readonly proxies: Proxies | undefined;
  readonly #resolve: Resolve;
  readonly #asked = new SharedAnswers<LookupAddress[]>();
  readonly #turns = new TurnsByName(AT_A_TIME);

  constructor(proxies?: Proxies, resolve: Resolve = (host) => lookup(host, { all: true })) {
    this.proxies = proxies;
    this.#resolve = resolve;
  }

  resolveAddresses(host: string): Promise<LookupAddress[]> {
    const domain = host.toLowerCase().split('.').slice(-2).join('.');
    return this.#asked.getOrAsk(host, () => this.#turns.run(domain, () => this.#resolve(host)));
  }
}
