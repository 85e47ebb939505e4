import type { DeploymentResource } from '../../schema/platform/resources/custom-resources.ts';

/** Changes that are remembered at least. A reader of older ones has to read everything again. */
const REMEMBERED = 10_000;

/** A deployment that changed, or of which a revision changed; `gone` is a deleted one as it last was. */
export type Changed = { uid: string; gone?: DeploymentResource };

/** The changes behind a place, and the place behind them; `undefined` where some of them are forgotten. */
export type ChangesSince = { changes: Changed[]; at: number } | undefined;

/** Remembers which deployments changed, in the order of the changes, so that a stream can go on where it was. */
export class RecentChanges {
  readonly #most: number;
  /** The changes from place `#first` on. */
  #changes: Changed[] = [];
  #first = 0;
  readonly #lastOf = new Map<string, number>();

  constructor(most = REMEMBERED) {
    this.#most = most;
  }

  /** The place behind all changes. */
  get at(): number {
    return this.#first + this.#changes.length;
  }

  /** Returns the place behind the last change of a deployment, 0 if it never changed. */
  getLastPlace(uid: string): number {
    return this.#lastOf.get(uid) ?? 0;
  }

  /** Notes a change of a deployment. One that is made again under the same name is another one. */
  noteDeployment(
    before: DeploymentResource | undefined,
    after: DeploymentResource | undefined,
  ): void {
    const uid = after?.metadata.uid;
    if (before !== undefined && before.metadata.uid !== uid)
      this.note({ uid: before.metadata.uid ?? '', gone: before });
    if (uid !== undefined) this.note({ uid });
  }

  note(change: Changed): void {
    this.#changes.push(change);
    if (change.gone === undefined) this.#lastOf.set(change.uid, this.at);
    else this.#lastOf.delete(change.uid);
    // Dropping half of them at once costs less than dropping each.
    if (this.#changes.length >= 2 * this.#most) this.#drop(this.#most);
  }

  /** Forgets all changes: everybody has to read everything again. */
  clear(): void {
    this.#drop(this.#changes.length);
    // One place that nobody can stand at.
    this.#first += 1;
  }

  /** Returns the changes behind a place, each deployment once, by its last change. */
  listSince(place: number): ChangesSince {
    if (place < this.#first || place > this.at) return undefined;
    const last = new Map<string, Changed>();
    for (const change of this.#changes.slice(place - this.#first)) {
      // A revision of a deleted deployment goes after it, and the deployment stays gone.
      const before = last.get(change.uid);
      last.delete(change.uid);
      last.set(change.uid, { ...before, ...change });
    }
    return { changes: [...last.values()], at: this.at };
  }

  #drop(count: number): void {
    this.#changes = this.#changes.slice(count);
    this.#first += count;
  }
}
