import type { IncomingHttpHeaders } from 'node:http';
import { Unauthorized } from '../../errors.ts';
import { isSignedBy } from '../../git/push-event.ts';
import { deriveNetwork } from '../../http/outgoing/addresses.ts';
import { Places, Rate } from '../../http/limits/quota.ts';
import { kinds } from '../../kube/kinds.ts';
import { trimCredential } from '../../schema/platform/source/pasted-credential.ts';
import type { ControlPlane } from '../control-plane.ts';
import type { KnownIntegration } from '../stored/integrations.ts';

const MEBIBYTE = 1024 * 1024;
/** GitHub cuts events at 25 MB, and leaves out commits beyond a number; a thousand take 1 MB. */
export const MOST_EVENT_BYTES = 5 * MEBIBYTE;
/** Seconds in which an event must have come. GitHub itself gives up after so many. */
export const EVENT_SECONDS = 10;
/** Bytes of events that are held at a time: four of the largest of an integration, sixteen in all. */
const HELD = {
  integration: 20 * MEBIBYTE,
  tenant: 40 * MEBIBYTE,
  address: 40 * MEBIBYTE,
  all: 80 * MEBIBYTE,
};
/** The least that an event counts, because its connection costs something, too. */
const LEAST_BYTES = 64 * 1024;
/** Events with a wrong signature that an address may send to an integration. Each costs an HMAC of its body. */
const WRONG_PER_MINUTE = 30;
/** Milliseconds for which a secret is remembered: as long as a changed one may be unknown. */
const REMEMBERED = 10_000;

/** Every refusal says the same: a wrong signature says no more than a wrong id. */
const UNKNOWN = 'There is no such integration, or the event is not signed with its secret.';
const FULL = 'Too many push events are under way; send it again later.';

type Clock = () => number;

/** Decides whose push events are read at all, because their senders have no key. */
export class PushDoor {
  readonly #plane: ControlPlane;
  readonly #clock: Clock;
  readonly #places = new Places();
  readonly #secrets = new Map<string, { value: Promise<string | undefined>; until: number }>();
  readonly #wrong: Rate;

  constructor(plane: ControlPlane, clock: Clock = () => performance.now()) {
    this.#plane = plane;
    this.#clock = clock;
    this.#wrong = new Rate({
      perMinute: WRONG_PER_MINUTE,
      message: 'Too many events with wrong signatures; try again later.',
      clock,
    });
  }

  /**
   * Takes room for an event before its body is read. Returns the function that gives it back. Throws `Unauthorized`
   * where nobody may send events to this id, and a 429 when there is no room or the address has signed wrongly too
   * often.
   */
  admit(id: string, { source, bytes }: { source: string; bytes: number }): () => void {
    const integration = this.#find(id);
    if (integration?.webhookSecret === undefined) throw new Unauthorized(UNKNOWN);
    const holds = { count: Math.max(bytes, LEAST_BYTES), message: FULL };
    // A wrong signature takes one of the address's tries. Here they are only looked at.
    this.#wrong.take(buildRateKey(integration.id, source));
    this.#wrong.giveBack(buildRateKey(integration.id, source));
    return this.#places.enter([
      { name: `integration ${integration.id}`, most: HELD.integration, ...holds },
      { name: `tenant ${integration.tenantId}`, most: HELD.tenant, ...holds },
      { name: `address ${deriveNetwork(source)}`, most: HELD.address, ...holds },
      { name: 'all', most: HELD.all, ...holds },
    ]);
  }

  /** Returns the integration whose secret has signed an event. Throws `Unauthorized`, and 429 after too many. */
  async requireSigner(
    id: string,
    { source, ...event }: { source: string; headers: IncomingHttpHeaders; body: Buffer },
  ): Promise<KnownIntegration> {
    const integration = this.#find(id);
    const secret = integration && (await this.#readSecret(integration));
    if (
      integration !== undefined &&
      secret !== undefined &&
      isSignedBy(secret, integration.kind, event)
    )
      return integration;
    if (integration !== undefined) this.#wrong.take(buildRateKey(integration.id, source));
    throw new Unauthorized(UNKNOWN);
  }

  #find(id: string): KnownIntegration | undefined {
    return this.#plane.integrations.listAll().find((known) => known.id === id.toLowerCase());
  }

  /** Reads the secret of an integration's webhook, once for all events of some seconds. */
  #readSecret({ webhookSecret: name }: KnownIntegration): Promise<string | undefined> {
    const { kube, config } = this.#plane;
    if (name === undefined || config.gitNamespace === undefined) return Promise.resolve(undefined);
    const known = this.#secrets.get(name);
    if (known !== undefined && this.#clock() < known.until) return known.value;
    for (const [other, { until }] of this.#secrets)
      if (this.#clock() >= until) this.#secrets.delete(other);
    // The read serves others as well, so that it must not end with the client who came first.
    const value = kube
      .find(kinds.secret, { namespace: config.gitNamespace, name })
      .then((secret) => decodeSecret(secret?.data));
    this.#secrets.set(name, { value, until: this.#clock() + REMEMBERED });
    value.catch(() => this.#secrets.delete(name));
    return value;
  }
}

const buildRateKey = (id: string, source: string): string => `${id} ${deriveNetwork(source)}`;

function decodeSecret(data: Record<string, string> | undefined): string | undefined {
  const value = trimCredential(Buffer.from(data?.['secret'] ?? '', 'base64').toString('utf8'));
  return value === '' ? undefined : value;
}
