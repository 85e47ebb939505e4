import type { RevisionStatus } from '../../schema/platform/revision.ts';

/** Counts revisions by namespace and phase. */
export class PhaseCounts {
  readonly #phases = new Map<string, RevisionStatus>();
  readonly #counts = new Map<string, Map<RevisionStatus, number>>();

  /** Notes the phase of a revision; undefined for one that is gone. The same may be noted again. */
  note(key: string, namespace: string, phase: RevisionStatus | undefined): void {
    this.#add(namespace, this.#phases.get(key), -1);
    this.#add(namespace, phase, 1);
    if (phase === undefined) this.#phases.delete(key);
    else this.#phases.set(key, phase);
  }

  /** Returns how many revisions of a namespace have each phase. */
  of(namespace: string): [RevisionStatus, number][] {
    return [...(this.#counts.get(namespace) ?? [])];
  }

  #add(namespace: string, phase: RevisionStatus | undefined, by: 1 | -1): void {
    if (phase === undefined) return;
    const counts = this.#counts.get(namespace) ?? new Map<RevisionStatus, number>();
    const count = (counts.get(phase) ?? 0) + by;
    if (count === 0) counts.delete(phase);
    else counts.set(phase, count);
    if (counts.size === 0) this.#counts.delete(namespace);
    else this.#counts.set(namespace, counts);
  }
}
