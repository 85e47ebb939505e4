import { isClientSignedBy } from '../../http/signed-client.ts';
import type { AskedOver } from '../../http/client.ts';
import { gatewayKeysOf } from '../../schema/wire/gateway-key.ts';
import { REPORT_LIFE } from '../../schema/wire/work-report.ts';

/**
 * The word of the gateway about the clients whose requests it passes on. Its answers to reports tell the keys by which
 * it signs, which count for as long as a report does.
 */
export class GatewayWord {
  readonly #of: string;
  #keys: string[] = [];
  #heardAt = -Infinity;

  /** `url`: where the work is reported. Its path names the deployment. */
  constructor(url: string) {
    this.#of = new URL(url).pathname;
  }

  /** Takes the body of an answer. One of an earlier gateway has no keys. */
  heard(answer: unknown): void {
    this.#keys = gatewayKeysOf((answer as { gateway_keys?: unknown } | null | undefined)?.gateway_keys);
    this.#heardAt = performance.now();
  }

  /** Returns whether the gateway has passed this request on, with these words about its client. */
  vouchesFor(asked: AskedOver): boolean {
    if (this.#keys.length === 0 || performance.now() - this.#heardAt > REPORT_LIFE * 1000) return false;
    return isClientSignedBy(this.#keys, asked, { of: this.#of, at: Date.now() / 1000 });
  }
}
