import { toError } from '../errors.ts';
import type { ObjectFault } from '../schema/platform/objects/object-fault.ts';
import type { KubeObject } from './kube.ts';
import { buildObjectKey } from './object-key.ts';

/** An object that can't be worked on as it is, and why. It holds only the parts that identify the object. */
export type Faulty = { object: KubeObject; fault: ObjectFault };

/** Remembers which objects of a kind can't be worked on as they are, and reports each fault once. */
export class FaultyObjects {
  readonly #faulty = new Map<string, Faulty>();
  readonly #listeners: ((faulty: Faulty) => void)[] = [];

  /** Calls the listener once for each fault of an object, when it is found. */
  addFaultListener(listener: (faulty: Faulty) => void): void {
    this.#listeners.push(listener);
  }

  findFault(key: string): ObjectFault | undefined {
    return this.#faulty.get(key)?.fault;
  }

  listAll(): Faulty[] {
    return [...this.#faulty.values()];
  }

  listKeys(): string[] {
    return [...this.#faulty.keys()];
  }

  note({ apiVersion, kind, metadata }: KubeObject, fault: ObjectFault | undefined): void {
    const key = buildObjectKey(metadata);
    if (fault === undefined) return this.remove(key);
    const isKnown = this.findFault(key)?.reason === fault.reason;
    const { namespace, name, uid, resourceVersion } = metadata;
    const identity = {
      name,
      ...(namespace && { namespace }),
      ...(uid && { uid }),
      ...(resourceVersion && { resourceVersion }),
    };
    const faulty = { object: { apiVersion, kind, metadata: identity }, fault };
    this.#faulty.set(key, faulty);
    if (!isKnown) for (const listener of this.#listeners) listener(faulty);
  }

  noteUnreadable(object: KubeObject, error: unknown): void {
    this.note(object, {
      reason: 'Unreadable',
      message: `It can't be read: ${toError(error).message}`.slice(0, 512),
    });
  }

  remove(key: string): void {
    this.#faulty.delete(key);
  }
}
