import { hash } from 'node:crypto';
import { kinds } from '../kube/kinds.ts';
import type { Kube, SecretObject } from '../kube/kube.ts';
import type { DeploymentResource } from '../schema/platform/resources/custom-resources.ts';
import type { Secret } from '../schema/platform/deployment/deployment.ts';
import { PART_OF, SECRETS_OF, TENANT } from '../schema/platform/objects/labels.ts';
import { toLabelValue, names } from '../schema/names.ts';
import { type Caller, hasRole, type Role } from './caller.ts';
import { buildRequestedBy } from './requested-by.ts';

/** A page of Secrets takes a fifth of a second; an API server that is slower must not hold up the start. */
const WARM_MILLISECONDS = 3000;
const WARM_AT_ONCE = 10;

/** The values of one Secret as kept in memory; `size` is in bytes. */
type CachedSecrets = { values: Secret[]; size: number };

const DIGEST_LENGTH = 16;
const ENV_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Room for 10,000 deployments with 3 KiB of secrets each; the pod has 256 MB. */
const KEPT_BYTES = 32 * 1024 * 1024;
/** Bytes that an entry costs besides its texts. */
const ENTRY_BYTES = 200;

/**
 * Stores and reads the values of secrets. They are written as immutable Secrets whose names are never used twice, so a
 * value that was read once stays true and is kept in memory, within a bound. A Secret made by somebody else is read
 * each time. Values are never logged.
 */
export class SecretValues {
  readonly #kube: Kube;
  readonly #room: number;
  /** The least recently used first. */
  readonly #kept = new Map<string, CachedSecrets>();
  #size = 0;

  constructor(kube: Kube, room = KEPT_BYTES) {
    this.#kube = kube;
    this.#room = room;
  }

  /** Stores the values as one immutable Secret and returns its name. Values are written nowhere else. */
  async store(
    owner: { deployment: string; namespace: string; tenantId: string },
    given: { secrets: readonly Secret[]; nonce: string; caller: Caller },
  ): Promise<string> {
    const name = names.secrets(owner.deployment, given.nonce);
    const made = await this.#kube.create(kinds.secret, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        name,
        namespace: owner.namespace,
        labels: {
          [SECRETS_OF]: toLabelValue(owner.deployment),
          [TENANT]: owner.tenantId,
          [PART_OF]: 'gx-platform',
        },
        annotations: { [SECRETS_OF]: owner.deployment, ...buildRequestedBy(given.caller) },
      },
      type: 'Opaque',
      immutable: true,
      stringData: Object.fromEntries(given.secrets.map((secret) => [secret.name, secret.value])),
    });
    this.#keep(made);
    return name;
  }

  /** Returns the secrets of a deployment for this caller: empty texts for a read key. */
  async read(
    deployment: DeploymentResource,
    { role, signal }: { role: Role; signal: AbortSignal },
  ): Promise<Secret[]> {
    const name = deployment.spec.template.secretName;
    if (name === undefined) return [];
    const values = await this.#readValues(
      { namespace: deployment.metadata.namespace, name },
      signal,
    );
    return values.map((secret) => ({
      name: secret.name,
      value: hasRole(role, 'write') ? secret.value : '',
    }));
  }

  /**
   * Returns the names in a Secret without their values. For a caller who may read those, each has a digest that is the
   * same for the same value within one deployment.
   */
  async listDigests(
    ref: { namespace: string | undefined; name: string },
    { deployment, role, signal }: { deployment: string; role: Role; signal: AbortSignal },
  ): Promise<{ name: string; digest: string | null }[]> {
    const deriveDigest = ({ name, value }: Secret): string =>
      hash('sha256', `${deployment}/${name}/${value}`).slice(0, DIGEST_LENGTH);
    const values = await this.#readValues(ref, signal);
    return values.map((secret) => ({
      name: secret.name,
      digest: hasRole(role, 'write') ? deriveDigest(secret) : null,
    }));
  }

  /**
   * Reads the secrets that lists show first, a few at a time. One that can't be read now is read when somebody asks.
   */
  async readAhead(deployments: readonly DeploymentResource[]): Promise<void> {
    const left = [...deployments];
    const signal = AbortSignal.timeout(WARM_MILLISECONDS);
    const readRemaining = async (): Promise<void> => {
      for (let next = left.pop(); next !== undefined && !signal.aborted; next = left.pop())
        await this.read(next, { role: 'read', signal }).catch(() => undefined);
    };
    await Promise.all(Array.from({ length: WARM_AT_ONCE }, readRemaining));
  }

  async #readValues(
    ref: { namespace: string | undefined; name: string },
    signal: AbortSignal,
  ): Promise<Secret[]> {
    const key = `${ref.namespace}/${ref.name}`;
    const kept = this.#kept.get(key);
    if (kept !== undefined) {
      this.#kept.delete(key);
      this.#kept.set(key, kept);
      return kept.values;
    }
    const secret = await this.#kube.find(kinds.secret, ref, signal);
    return secret === undefined ? [] : this.#keep(secret);
  }

  #keep({ metadata, immutable, data = {} }: SecretObject): Secret[] {
    const values = Object.entries(data)
      .filter(([name]) => ENV_NAME.test(name))
      .map(([name, value]) => ({ name, value: Buffer.from(value, 'base64').toString('utf8') }));
    if (immutable !== true || metadata.labels?.[SECRETS_OF] === undefined) return values;
    const size = values.reduce(
      (sum, { name, value }) => sum + ENTRY_BYTES + 2 * (name.length + value.length),
      ENTRY_BYTES,
    );
    const key = `${metadata.namespace}/${metadata.name}`;
    this.#dropKept(key);
    this.#kept.set(key, { values, size });
    this.#size += size;
    for (const oldest of this.#kept.keys()) {
      if (this.#size <= this.#room) break;
      this.#dropKept(oldest);
    }
    return values;
  }

  #dropKept(key: string): void {
    this.#size -= this.#kept.get(key)?.size ?? 0;
    this.#kept.delete(key);
  }
}
