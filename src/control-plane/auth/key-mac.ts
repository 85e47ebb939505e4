import { randomBytes } from 'node:crypto';
import { Conflict, Unavailable } from '../../errors.ts';
import { kinds, type Kube, type SecretObject } from '../../kube/kube.ts';
import { API_KEY, PART_OF } from '../../schema/labels.ts';
import { formOf, hasMacOf, keyHash, keyId } from './key-form.ts';

/** The Secret that keys get their MAC from. Without it, no key of this version can be told from a forged one. */
export const MAC_SECRET = 'gx-api-key-mac';
const BYTES = 32;

/** The secret of the MAC, and the ids of the keys that were made before there was one. */
type Mac = { secret: Buffer; earlier: Set<string> };

/** Returns the secret of the MAC. Makes it on first use, and notes in it which keys exist that have none. */
export async function ensureMac(kube: Kube, namespace: string): Promise<Buffer> {
  const found = await findMac(kube, namespace);
  if (found !== undefined) return found.secret;
  const earlier = await kube.all(kinds.secret, { namespace, labelSelector: API_KEY });
  const ids = earlier.map(({ metadata }) => metadata.labels?.[API_KEY]);
  const secret = randomBytes(BYTES);
  try {
    await kube.create(kinds.secret, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: MAC_SECRET, namespace, labels: { [PART_OF]: 'gx-platform' } },
      type: 'Opaque',
      immutable: true,
      stringData: { mac: secret.toString('base64'), keysWithoutMac: ids.join(',') },
    });
    return secret;
  } catch (error) {
    if (!(error instanceof Conflict)) throw error;
    return ensureMac(kube, namespace);
  }
}

async function findMac(kube: Kube, namespace: string, signal?: AbortSignal): Promise<Mac | undefined> {
  const object = await kube.find(kinds.secret, { namespace, name: MAC_SECRET }, signal);
  if (object === undefined) return undefined;
  const secret = Buffer.from(textAt(object, 'mac'), 'base64');
  if (secret.length !== BYTES)
    throw new Unavailable(`The Secret ${MAC_SECRET} holds no MAC secret: delete it, and make new keys with api-key create.`);
  return { secret, earlier: new Set(textAt(object, 'keysWithoutMac').split(',')) };
}

const textAt = ({ data = {} }: SecretObject, key: string): string => Buffer.from(data[key] ?? '', 'base64').toString('utf8');

/** What is known of the Secret is read again after this time, because somebody may have replaced it. */
const FRESH_MILLISECONDS = 60_000;
/** Before the first key of this version is made there is no Secret. It is looked for this often, however many ask. */
const MISSING_MILLISECONDS = 1000;

/**
 * Tells forged keys from those that may exist, by their MAC. Of keys without one, those may exist that the Secret
 * lists, or any, where nobody has made the Secret yet.
 */
export class MacCheck {
  readonly #find: () => Promise<Mac | undefined>;
  readonly #clock: () => number;
  #mac: Mac | undefined;
  #at = -Infinity;
  #reading: Promise<void> | undefined;

  constructor({ kube, namespace, clock }: { kube: Kube; namespace: string; clock: () => number }) {
    this.#find = () => findMac(kube, namespace);
    this.#clock = clock;
  }

  /** Returns whether a key may exist. `unknown` means that only a look at what is stored can tell. */
  async verdictOn(key: string): Promise<'real' | 'forged' | 'unknown'> {
    const form = formOf(key);
    if (form === 'no key') return 'forged';
    const mac = await this.#current();
    if (form === 'without MAC') {
      if (mac === undefined) return 'unknown';
      return mac.earlier.has(keyId(keyHash(key))) ? 'real' : 'forged';
    }
    return mac !== undefined && hasMacOf(key, mac.secret) ? 'real' : 'forged';
  }

  async #current(): Promise<Mac | undefined> {
    const age = this.#clock() - this.#at;
    if (age < (this.#mac === undefined ? MISSING_MILLISECONDS : FRESH_MILLISECONDS)) return this.#mac;
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
      // What was read before goes on to tell forged keys apart; whether a key still exists is checked elsewhere.
      if (this.#mac === undefined || !(error instanceof Unavailable)) throw error;
      this.#at = this.#clock();
    }
  }
}
