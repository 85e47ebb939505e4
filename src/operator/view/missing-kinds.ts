import type { Kind } from '../../kube/kube.ts';

/** The optional kinds that the cluster does not have, as their watches found. */
export class MissingKinds {
  readonly #missing = new Set<string>();
  readonly #installed: (() => void)[] = [];

  has = ({ apiVersion, kind }: Kind): boolean => this.#missing.has(`${apiVersion} ${kind}`);

  subscribe(handle: () => void): void {
    this.#installed.push(handle);
  }

  /** Takes the news of a watch, of which each namespace has one. */
  note({ apiVersion, kind }: Kind, isThere: boolean): void {
    const name = `${apiVersion} ${kind}`;
    if (!isThere) this.#missing.add(name);
    else if (this.#missing.delete(name)) for (const handle of this.#installed) handle();
  }
}
