/**
 * How far the other side has come with the questions and exchanges of the server, by their numbers; 0 stands for none.
 * A side that does not know for sure how far it has come gives the higher number for `begun`: a request that was begun
 * must not be made twice.
 */
export type Liveness = {
  /** The one that holds the thread. */
  holds: number;
  /** The last exchange that was begun. */
  begun: number;
};

const HOLDS = 0;
const BEGUN = 1;

/** Liveness in memory that two threads share, because one that never yields can't answer. */
export class SharedLiveness implements Liveness {
  readonly memory: SharedArrayBuffer;
  readonly #places: Int32Array<SharedArrayBuffer>;

  constructor(memory = new SharedArrayBuffer(8)) {
    this.memory = memory;
    this.#places = new Int32Array(memory);
  }

  get holds(): number {
    return Atomics.load(this.#places, HOLDS);
  }

  set holds(call: number) {
    Atomics.store(this.#places, HOLDS, call);
  }

  get begun(): number {
    return Atomics.load(this.#places, BEGUN);
  }

  set begun(exchange: number) {
    Atomics.store(this.#places, BEGUN, exchange);
  }
}

/**
 * Liveness as the other side reports it. It goes on between two reports, so all that was sent counts as begun, unless
 * something holds it.
 */
export class ReportedLiveness implements Readonly<Liveness> {
  #holds = 0;
  #reported = 0;
  #sent = 0;

  get holds(): number {
    return this.#holds;
  }

  get begun(): number {
    return this.#holds === 0 ? this.#sent : this.#reported;
  }

  noteSent(exchange: number): void {
    this.#sent = exchange;
  }

  report({ holds = 0, begun = 0 }: Partial<Liveness>): void {
    this.#holds = holds;
    this.#reported = begun;
  }
}
