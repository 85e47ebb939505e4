import { randomBytes } from 'node:crypto';
import { Conflict, Unavailable } from '../../errors.ts';
import { kinds } from '../../kube/kinds.ts';
import type { Kube } from '../../kube/kube.ts';
import { PART_OF } from '../../schema/platform/objects/labels.ts';
import { hasFormOfKey, hasMacOf } from './key-form.ts';

/** The Secret that keys get their MAC from. Without it, a forged key looks like a good one. */
export const MAC_SECRET = 'gx-api-key-mac';
const BYTES = 32;

/** Returns the secret of the MAC. Makes it on first use. */
export async function ensureMac(kube: Kube, namespace: string): Promise<Buffer> {
  const found = await findMac(kube, namespace);
  if (found !== undefined) return found;
  const secret = randomBytes(BYTES);
  try {
    await kube.create(kinds.secret, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: MAC_SECRET, namespace, labels: { [PART_OF]: 'gx-platform' } },
      type: 'Opaque',
      immutable: true,
      stringData: { mac: secret.toString('base64') },
    });
    return secret;
  } catch (error) {
    if (!(error instanceof Conflict)) throw error;
    return ensureMac(kube, namespace);
  }
}

async function findMac(
  kube: Kube,
  namespace: string,
  signal?: AbortSignal,
): Promise<Buffer | undefined> {
  const object = await kube.find(kinds.secret, { namespace, name: MAC_SECRET }, signal);
  if (object === undefined) return undefined;
  // The Secret's data is base64 of a text that is base64 itself.
  const secret = Buffer.from(
    Buffer.from(object.data?.mac ?? '', 'base64').toString('utf8'),
    'base64',
  );
  if (secret.length !== BYTES)
    throw new Unavailable(
      `The Secret ${MAC_SECRET} holds no MAC secret: delete it, and make new keys with api-key create.`,
    );
  return secret;
}

/** The Secret is read again after this time, because somebody may have replaced it. */
const FRESH_MILLISECONDS = 60_000;
/** Before the first key is made there is no Secret. It is looked for this often, however many ask. */
const MISSING_MILLISECONDS = 1000;

/** Tells forged keys from those that may exist, by their MAC. */
export class MacCheck {
  readonly #find: () => Promise<Buffer | undefined>;
  readonly #clock: () => number;
  #mac: Buffer | undefined;
  #at = -Infinity;
  #reading: Promise<void> | undefined;

  constructor({ kube, namespace, clock }: { kube: Kube; namespace: string; clock: () => number }) {
    this.#find = () => findMac(kube, namespace);
    this.#clock = clock;
  }

  /** Returns whether the command never made this key. */
  async isForged(key: string): Promise<boolean> {
    if (!hasFormOfKey(key)) return true;
    const mac = await this.#readCurrent();
    return mac === undefined || !hasMacOf(key, mac);
  }

  async #readCurrent(): Promise<Buffer | undefined> {
    const age = this.#clock() - this.#at;
    if (age < (this.#mac === undefined ? MISSING_MILLISECONDS : FRESH_MILLISECONDS))
      return this.#mac;
    // One read serves all who wait.
    this.#reading ??= this.#read().finally(() => (this.#reading = undefined));
    await this.#reading;
    return this.#mac;
  }

  async #read(): Promise<void> {
    try {
      this.#mac = await this.#find();
      this.#at = this.#clock();
    } catch (error) {
      // The MAC that was read before goes on to reveal forged keys; whether a key still exists is checked elsewhere.
      if (this.#mac === undefined || !(error instanceof Unavailable)) throw error;
      this.#at = this.#clock();
    }
  }
}
