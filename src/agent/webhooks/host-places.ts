/** Messages that are sent to one host at a time. */
export const EACH = 16;
/** Attempts in a row that fail at a host before its places rest. */
const PATIENCE = EACH;
/** Milliseconds for which a place stays taken behind an attempt that failed at such a host. */
const REST = 1000;

type Host = { busy: number; failed: number };

/**
 * The places of each host: how many of its messages are under way. A host that only fails gets few attempts a second,
 * so that the runs beside them keep their speed.
 */
export class HostPlaces {
  readonly #hosts = new Map<string, Host>();
  readonly #freed: () => void;

  /** `freed` hears that a host has a place again that had none. */
  constructor(freed: () => void) {
    this.#freed = freed;
  }

  /** Returns how many more each busy host may get. */
  countFreePlaces(): Map<string, number> {
    return new Map([...this.#hosts].map(([host, { busy }]) => [host, EACH - busy]));
  }

  take(host: string): void {
    const known = this.#hosts.get(host) ?? { busy: 0, failed: 0 };
    known.busy += 1;
    this.#hosts.set(host, known);
  }

  /** Gives a place back after an attempt: at once, or after a rest. */
  leave(host: string, { failed }: { failed: boolean }): void {
    const known = this.#hosts.get(host)!;
    known.failed = failed ? known.failed + 1 : 0;
    if (known.failed > PATIENCE) setTimeout(() => this.#releasePlace(host, known), REST).unref();
    else this.#releasePlace(host, known);
  }

  #releasePlace(host: string, known: Host): void {
    known.busy -= 1;
    if (known.busy === 0) this.#hosts.delete(host);
    if (known.busy === EACH - 1) this.#freed();
  }
}
