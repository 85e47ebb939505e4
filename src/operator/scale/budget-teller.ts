import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { TenantBudgetSetting } from '../../config/platform/tenant-budgets.ts';
import { toError, Unavailable } from '../../errors.ts';
import { readJsonAnswer } from '../../http/bodies/bounded-answer.ts';
import type { Log } from '../../log.ts';
import { BUDGETS_PATH, type BudgetWords, type TenantWord } from '../../schema/wire/budget-words.ts';
import { sumTenants, type SpendingDeployment } from './tenant-budgets.ts';

/** Milliseconds between two words to a gateway, and those that it has for its answer. */
const EVERY = 2000;
const PATIENCE = 5000;
/** Characters of tenants in one request, unless a single tenant has more. */
const MOST_CHARACTERS = 1024 * 1024;
const MAX_ANSWER_BYTES = 4096;

export type TellerOptions = {
  /** Returns where the gateways answer. */
  gateways: () => string[];
  budgets: readonly TenantBudgetSetting[];
  /** By which the gateways know this process. */
  key: string;
  /** Returns all deployments with their usage. */
  deployments: () => Iterable<SpendingDeployment>;
  log: Log;
  now?: () => Date;
};

/** A tenant's word as JSON, and the version that it came with. */
type VersionedWord = { text: string; version: number };

/**
 * Tells the gateways how the budgets of tenants stand, which tell it to agents in their answers. A gateway gets all at
 * first, and then the tenants that have changed. Without budgets it hears that there are none.
 */
export class BudgetTeller {
  readonly #options: TellerOptions;
  readonly #from = randomUUID();
  readonly #words = new Map<string, VersionedWord>();
  /** The version that each gateway has. */
  readonly #known = new Map<string, number>();
  #version = 0;

  constructor(options: TellerOptions) {
    this.#options = options;
  }

  /** Tells until the signal. Never throws. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.tell(signal);
      await wait(EVERY, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Tells all gateways once. */
  async tell(signal: AbortSignal): Promise<void> {
    this.#sum();
    const urls = this.#options.gateways();
    for (const url of this.#known.keys()) if (!urls.includes(url)) this.#known.delete(url);
    await Promise.all(urls.map((url) => this.#tellGateway(url, signal)));
  }

  /** Sums the usage again, and notes which tenants have changed. */
  #sum(): void {
    const { budgets, deployments, now = () => new Date() } = this.#options;
    const words = budgets.length === 0 ? [] : sumTenants(budgets, deployments(), now());
    const texts = new Map([...words].map(([tenant, word]) => [tenant, JSON.stringify(word)]));
    for (const tenant of this.#words.keys())
      if (!texts.has(tenant)) texts.set(tenant, JSON.stringify(buildNoWord(tenant)));
    const changed = [...texts].filter(([tenant, text]) => this.#words.get(tenant)?.text !== text);
    if (changed.length === 0) return;
    this.#version += 1;
    for (const [tenant, text] of changed) this.#words.set(tenant, { text, version: this.#version });
  }

  async #tellGateway(url: string, signal: AbortSignal): Promise<void> {
    const version = this.#version;
    let after = this.#known.get(url);
    const texts = [...this.#words.values()]
      .filter((word) => word.version > (after ?? -1))
      .map(({ text }) => text);
    try {
      for (const part of splitTexts(texts)) {
        const more = part.end < texts.length;
        const head: Omit<BudgetWords, 'tenants'> = {
          from: this.#from,
          ...(after !== undefined && { after }),
          version,
          more,
        };
        const tenants = texts.slice(part.begin, part.end).join(',');
        const body = `${JSON.stringify(head).slice(0, -1)},"tenants":[${tenants}]}`;
        if (!(await this.#send(url, body, signal))) {
          // It has started again. The next word has everything.
          this.#known.delete(url);
          return;
        }
        after = version;
      }
      this.#known.set(url, version);
    } catch (error) {
      this.#known.delete(url);
      if (!signal.aborted)
        this.#options.log.debug(
          { err: toError(error), url },
          'a gateway could not be sent the budgets of tenants',
        );
    }
  }

  /** Returns whether the gateway has taken it. */
  async #send(url: string, body: string, signal: AbortSignal): Promise<boolean> {
    const answer = await fetch(`${url}${BUDGETS_PATH}`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json', 'x-api-key': this.#options.key },
      body,
      signal: AbortSignal.any([signal, AbortSignal.timeout(PATIENCE)]),
      redirect: 'error',
    });
    const heard = await readJsonAnswer(answer, MAX_ANSWER_BYTES);
    if (!answer.ok) throw new Unavailable(`the gateway answers ${answer.status}`);
    return (heard as { taken?: unknown } | null)?.taken === true;
  }
}

const buildNoWord = (tenant: string): TenantWord => ({ tenant, budgets: [], own: {} });

/** Returns the parts of a list of texts that go together. There is one at least, which may be empty. */
function splitTexts(texts: readonly string[]): { begin: number; end: number }[] {
  const parts: { begin: number; end: number }[] = [];
  let [begin, room] = [0, MOST_CHARACTERS];
  for (const [at, text] of texts.entries()) {
    if (text.length > room && at > begin) {
      parts.push({ begin, end: at });
      [begin, room] = [at, MOST_CHARACTERS];
    }
    room -= text.length;
  }
  return [...parts, { begin, end: texts.length }];
}
