import { hash } from 'node:crypto';
import { Unavailable } from '../../errors.ts';
import { kinds } from '../../kube/kinds.ts';
import type { ConfigMapObject, Kube } from '../../kube/kube.ts';
import { GATEWAY_KEYS_ENTRY, formatGatewayKeys } from '../../schema/wire/gateway-key.ts';
import { OPERATOR_KEY_ENTRY } from '../../schema/wire/operator-key.ts';
import {
  parseKeptPorts,
  formatKeptPorts,
  PORTS_CONFIG_MAP,
  PORTS_KEY,
  type KeptPorts,
} from '../../schema/platform/objects/kept-ports.ts';
import { MANAGED_BY, OPERATOR } from '../../schema/platform/objects/labels.ts';
import { BY_ID, type Caches } from './caches.ts';
import { Limiter } from '../../http/limits/limiter.ts';

/** Ports that no connection of the gateway's own begins at. */
const FIRST = 10_000;
const COUNT = 22_768;

/** The wish of a deployment: a port of the gateway or none, and the node port of its Service, if it has one. */
type Wish = { gateway: boolean; node: number | undefined };

type Options = {
  kube: Kube;
  namespace: string;
  caches: Caches;
  /** By which gateways know this process. */
  operatorKeyHash: string;
};

/**
 * Keeps the ports of deployments in the ConfigMap that is named for them, and beside them the keys of the gateways
 * and the hash of the operator's. A port in a status counts for nothing. One write at a time takes all wishes that
 * have come by then, and frees the ports of deployments that are gone.
 */
export class PortKeeper {
  readonly #options: Options;
  readonly #turns = new Limiter(1);
  readonly #wishes = new Map<string, Wish>();
  #kept: Map<string, KeptPorts> | undefined;
  /** The text of the gateways' keys: as it is written, and as it is to be. */
  #keys = { written: '', wished: undefined as string | undefined };
  #writtenHash = '';
  #version: string | undefined;

  constructor(options: Options) {
    this.#options = options;
  }

  /** Returns the ports of a deployment, once they are written as it wishes. It has none if all are taken. */
  async keep(uid: string, wish: Wish, signal: AbortSignal): Promise<KeptPorts> {
    if (this.#kept !== undefined && isAsWished(this.#kept.get(uid), wish))
      return this.#kept.get(uid) ?? {};
    this.#wishes.set(uid, wish);
    await this.#turns.run(() => this.#write(signal));
    if (this.#kept === undefined || this.#wishes.has(uid))
      throw new Unavailable('The ports of deployments could not be written.');
    return this.#kept.get(uid) ?? {};
  }

  /** Writes the keys by which the gateways sign, if they are not those that stand there. */
  async keepGatewayKeys(keys: readonly string[], signal: AbortSignal): Promise<void> {
    this.#keys.wished = formatGatewayKeys(keys);
    if (this.#hasNewKeys) await this.#turns.run(() => this.#write(signal));
  }

  get #hasNewKeys(): boolean {
    return (
      this.#keys.wished !== undefined &&
      (this.#kept === undefined || this.#keys.wished !== this.#keys.written || this.#hasNewHash)
    );
  }

  get #hasNewHash(): boolean {
    return this.#writtenHash !== this.#options.operatorKeyHash;
  }

  async #write(signal: AbortSignal): Promise<void> {
    // Wishes of the same moment go along.
    await Promise.resolve();
    if (this.#wishes.size === 0 && !this.#hasNewKeys) return;
    const before = (this.#kept ??= await this.#read(signal));
    const wishes = new Map(this.#wishes);
    const after = new Map(
      [...before].filter(([uid]) => wishes.has(uid) || this.#hasDeployment(uid)),
    );
    for (const [uid, wish] of wishes) setPorts(after, uid, wish);
    const text = formatKeptPorts(after);
    const keys = this.#keys.wished ?? this.#keys.written;
    if (text !== formatKeptPorts(before) || keys !== this.#keys.written || this.#hasNewHash)
      await this.#apply({ text, keys }, signal);
    this.#kept = after;
    for (const [uid, wish] of wishes) if (this.#wishes.get(uid) === wish) this.#wishes.delete(uid);
  }

  #hasDeployment(uid: string): boolean {
    return this.#options.caches.deployments.listKeysByIndex(BY_ID, uid).length > 0;
  }

  async #read(signal: AbortSignal): Promise<Map<string, KeptPorts>> {
    const { kube, namespace } = this.#options;
    const found = await kube.find<ConfigMapObject>(
      kinds.configMap,
      { namespace, name: PORTS_CONFIG_MAP },
      signal,
    );
    this.#version = found?.metadata.resourceVersion;
    this.#keys.written = found?.data?.[GATEWAY_KEYS_ENTRY] ?? '';
    this.#writtenHash = found?.data?.[OPERATOR_KEY_ENTRY] ?? '';
    return parseKeptPorts(found?.data?.[PORTS_KEY] ?? '');
  }

  /** After a failure all is read again: it may have been written, or somebody else wrote. */
  async #apply({ text, keys }: { text: string; keys: string }, signal: AbortSignal): Promise<void> {
    const { kube, namespace, operatorKeyHash } = this.#options;
    const version = this.#version;
    const metadata = {
      name: PORTS_CONFIG_MAP,
      namespace,
      labels: { [MANAGED_BY]: OPERATOR },
      ...(version !== undefined && { resourceVersion: version }),
    };
    try {
      const object = {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata,
        data: {
          [PORTS_KEY]: text,
          [GATEWAY_KEYS_ENTRY]: keys,
          [OPERATOR_KEY_ENTRY]: operatorKeyHash,
        },
      };
      const written = await kube.apply<ConfigMapObject>(kinds.configMap, object, signal);
      this.#version = written.metadata.resourceVersion;
      this.#keys.written = keys;
      this.#writtenHash = operatorKeyHash;
    } catch (error) {
      this.#kept = undefined;
      throw error;
    }
  }
}

const isAsWished = (kept: KeptPorts = {}, { gateway, node }: Wish): boolean =>
  gateway === (kept.gateway !== undefined) && (node === undefined || node === kept.node);

/** Notes the wish of a deployment. A node port that its Service has no longer is kept for the next one. */
function setPorts(all: Map<string, KeptPorts>, uid: string, wish: Wish): void {
  const { gateway = findFreePort(all, uid), node } = all.get(uid) ?? {};
  const next = wish.node ?? node;
  const ports = {
    ...(wish.gateway && gateway !== undefined && { gateway }),
    ...(next !== undefined && { node: next }),
  };
  if (Object.keys(ports).length > 0) all.set(uid, ports);
  else all.delete(uid);
}

/** The search begins at a place of the deployment's own, so that a port that became free is not taken at once. */
function findFreePort(all: ReadonlyMap<string, KeptPorts>, uid: string): number | undefined {
  const taken = new Set([...all.values()].map(({ gateway }) => gateway));
  const start = Number.parseInt(hash('sha256', uid).slice(0, 8), 16);
  for (let step = 0; step < COUNT; step += 1) {
    const port = FIRST + ((start + step) % COUNT);
    if (!taken.has(port)) return port;
  }
  return undefined;
}
