import { Limiter } from '../../http/limits/limiter.ts';

/** Makes one build after another, so that each sees the places that those before have taken. */
export class BuildTurns extends Limiter {
  #begun = 0;
  /** For each tenant, which of all builds that began here was its latest. A new leader counts from the start. */
  readonly latest = new Map<string, number>();

  constructor() {
    super(1);
  }

  note(tenant: string): void {
    this.#begun += 1;
    this.latest.set(tenant, this.#begun);
  }
}
