import { Conflict } from '../../errors.ts';
import { kinds } from '../../kube/kinds.ts';
import type { Kube, LeaseObject } from '../../kube/kube.ts';
import { formatMicroTime } from '../../kube/lease.ts';
import type { Log } from '../../log.ts';
import { API_KEY, PART_OF } from '../../schema/platform/objects/labels.ts';
import { type ApiKey, buildKeyObjectName } from './keys.ts';

/** A use is written at most this often, so that a busy key costs the API server a write in five minutes. */
const EVERY_MILLISECONDS = 300_000;
const REMEMBERED = 10_000;

type LastUseOptions = { kube: Kube; namespace: string; log: Log; clock: () => number };

/**
 * Keeps when each key was last used, as the `renewTime` of a Lease beside its Secret. The Lease is owned by the Secret,
 * so revoking a key removes both.
 */
export class LastUse {
  readonly #options: LastUseOptions;
  readonly #written = new Map<string, number>();

  constructor(options: LastUseOptions) {
    this.#options = options;
  }

  /** Notes a use now. It never fails and never keeps a request waiting. */
  note(key: ApiKey): void {
    const now = this.#options.clock();
    if (now - (this.#written.get(key.id) ?? -Infinity) < EVERY_MILLISECONDS) return;
    this.#written.delete(key.id);
    this.#written.set(key.id, now);
    const oldest = this.#written.keys().next().value;
    if (this.#written.size > REMEMBERED && oldest !== undefined) this.#written.delete(oldest);
    void this.#write(key).catch((error: unknown) => {
      // Another process that wrote at the same time has written the same.
      if (error instanceof Conflict) return;
      this.#options.log.warn(
        { err: error, key_id: key.id },
        'the last use of a key could not be stored',
      );
    });
  }

  async #write(key: ApiKey): Promise<void> {
    const { kube, namespace } = this.#options;
    const name = buildKeyObjectName(key.id);
    const found = await kube.find(kinds.lease, { namespace, name });
    const spec = { ...found?.spec, renewTime: formatMicroTime() };
    if (found !== undefined) return void (await kube.replace(kinds.lease, { ...found, spec }));
    const owner = { apiVersion: 'v1', kind: 'Secret', name, uid: key.uid };
    const labels = { [API_KEY]: key.id, [PART_OF]: 'gx-platform' };
    const metadata = { name, namespace, labels, ownerReferences: [owner] };
    await kube.create(kinds.lease, {
      apiVersion: kinds.lease.apiVersion,
      kind: kinds.lease.kind,
      metadata,
      spec,
    });
  }
}

/** Returns when each key was last used, by the key's id. A key that was never used is not among them. */
export async function listLastUses(kube: Kube, namespace: string): Promise<Map<string, string>> {
  const leases: LeaseObject[] = await kube.listAll(kinds.lease, {
    namespace,
    labelSelector: API_KEY,
  });
  return new Map(
    leases.map(({ metadata, spec }) => [metadata.labels?.[API_KEY] ?? '', spec.renewTime ?? '']),
  );
}
