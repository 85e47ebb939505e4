import { Conflict, Forbidden } from '../../errors.ts';
import { kinds } from '../../kube/kinds.ts';
import type { Kube, LeaseObject } from '../../kube/kube.ts';
import { isObject, parseJsonOr } from '../../schema/json.ts';
import { PART_OF, UNMATCHED_PUSH } from '../../schema/platform/objects/labels.ts';

/** The Lease that has the events. All replicas may read and write it by name, and nobody of a tenant may. */
const LEASE = 'gx-unmatched-pushes';
/** Bytes of all events together: half of the annotations that one object of Kubernetes may have. */
const MAX_BYTES = 131_072;
/** Milliseconds that one read serves: a page asks again and again, for each deployment. */
const READ_MS = 1000;
/** Milliseconds that a page waits for it. */
const READ_PATIENCE_MS = 2000;
const ATTEMPTS = 3;

/** A push event that was for no deployment. */
export type UnmatchedPush = { repository: string; branch: string; at: string };

/** An event of a connection, with the tenant that had the connection then. */
type SharedPush = UnmatchedPush & { tenant: string };
type SharedPushes = Record<string, SharedPush>;
type Place = { kube: Kube; namespace: string };

/**
 * Keeps the last push event that was for no deployment of each connection of the settings, which have no resource of
 * their own, where all replicas read it.
 */
export class SharedPushRecord {
  readonly #place: Place;
  #read: { pushes: Promise<SharedPushes>; until: number } | undefined;

  constructor(place: Place) {
    this.#place = place;
  }

  /** Returns the event of a connection, as of a second ago. Undefined where the record can't be read. */
  async findLast(id: string, tenant: string): Promise<UnmatchedPush | undefined> {
    const now = performance.now();
    if (this.#read === undefined || now >= this.#read.until) {
      // A page shows all else where the API server is away, or the Role is that of an earlier release.
      const pushes = this.#readRecord(AbortSignal.timeout(READ_PATIENCE_MS)).then(
        (found) => parsePushes(found),
        () => ({}),
      );
      this.#read = { pushes, until: now + READ_MS };
    }
    const { [id]: push } = await this.#read.pushes;
    if (push?.tenant !== tenant) return undefined;
    const { repository, branch, at } = push;
    return { repository, branch, at };
  }

  /** Writes an event, and forgets those of connections other than these. Another replica may write at the same time. */
  async write(id: string, push: SharedPush, known: ReadonlySet<string>): Promise<void> {
    for (let attempt = 1; ; attempt += 1)
      try {
        const found = await this.#readRecord();
        const others = Object.entries(parsePushes(found)).filter(
          ([other]) => other !== id && known.has(other),
        );
        await this.#save(found, limitPushes({ ...Object.fromEntries(others), [id]: push }));
        this.#read = undefined;
        return;
      } catch (error) {
        // The event itself was read. The next one of the connection is written, if this one can't be.
        if (error instanceof Forbidden || (error instanceof Conflict && attempt === ATTEMPTS))
          return;
        if (!(error instanceof Conflict)) throw error;
      }
  }

  #readRecord(signal?: AbortSignal): Promise<LeaseObject | undefined> {
    const { kube, namespace } = this.#place;
    return kube.find(kinds.lease, { namespace, name: LEASE }, signal);
  }

  async #save(found: LeaseObject | undefined, pushes: SharedPushes): Promise<void> {
    const { kube, namespace } = this.#place;
    const noted = { [UNMATCHED_PUSH]: JSON.stringify(pushes) };
    if (found === undefined) {
      const metadata = {
        name: LEASE,
        namespace,
        labels: { [PART_OF]: 'gx-platform' },
        annotations: noted,
      };
      const { apiVersion, kind } = kinds.lease;
      await kube.create(kinds.lease, { apiVersion, kind, metadata, spec: {} });
      return;
    }
    const annotations = { ...found.metadata.annotations, ...noted };
    await kube.replace(kinds.lease, { ...found, metadata: { ...found.metadata, annotations } });
  }
}

/** Returns the events that fit, the newest first. */
function limitPushes(pushes: SharedPushes): SharedPushes {
  const newest = Object.entries(pushes).toSorted(([, a], [, b]) => (a.at < b.at ? 1 : -1));
  while (newest.length > 1 && Buffer.byteLength(JSON.stringify(newest)) > MAX_BYTES) newest.pop();
  return Object.fromEntries(newest);
}

/** Returns the events of a record, without nonsense that somebody has written there. */
function parsePushes(found: LeaseObject | undefined): SharedPushes {
  const value = parseJsonOr(found?.metadata.annotations?.[UNMATCHED_PUSH] ?? '', undefined);
  if (!isObject(value)) return {};
  return Object.fromEntries(
    Object.entries(value).flatMap(([id, entry]) => {
      const push = parseUnmatched(entry);
      const tenant = isObject(entry) ? entry.tenant : undefined;
      return push === undefined || typeof tenant !== 'string' ? [] : [[id, { ...push, tenant }]];
    }),
  );
}

/** Returns the event that a value describes. Undefined for nonsense. */
export function parseUnmatched(value: unknown): UnmatchedPush | undefined {
  if (!isObject(value)) return undefined;
  const { repository, branch, at } = value;
  if (
    typeof repository !== 'string' ||
    typeof branch !== 'string' ||
    typeof at !== 'string' ||
    Number.isNaN(Date.parse(at))
  )
    return undefined;
  return { repository, branch, at };
}
