import type { Calls } from '../api/calls.ts';
import type { StreamMessage } from './event-blocks.ts';
import { followStream, type Connection } from './follow-stream.ts';

/*
 * All tabs of a browser share one event stream, because a browser opens few connections to a server. The tab that holds
 * a lock reads the stream and passes it on to the others.
 */

/** The words that tabs pass on. `who` asks whether somebody leads, who then answers with the state. */
type Word =
  | { kind: 'message'; message: StreamMessage }
  | { kind: 'state'; connection: Connection }
  | { kind: 'beat' }
  | { kind: 'who' };

/** A tab that hears nothing for so long takes the lead away from the one that has it, which sleeps. */
const DEAF = 20_000;
/** A refusal is rarely over within a moment. */
const AFTER_REFUSAL = 10_000;

type Shared = {
  calls: Calls;
  /** Names the stream. Two with one name bring the same. */
  name: string;
  signal: AbortSignal;
  message: (message: StreamMessage) => void;
  state: (connection: Connection) => void;
  refused: (error: unknown) => void;
};

/** Follows the changes of all deployments, together with the other tabs. */
export class SharedEvents {
  readonly #shared: Shared;
  readonly #channel: BroadcastChannel;
  #last: string | undefined;
  #heard = performance.now();
  #leads = false;
  #connection: Connection = { kind: 'connecting' };

  constructor(shared: Shared) {
    this.#shared = shared;
    this.#channel = new BroadcastChannel(shared.name);
    this.#channel.addEventListener('message', ({ data }) => this.#handleWord(data as Word));
  }

  /** Whether this tab reads the stream for all. */
  get leads(): boolean {
    return this.#leads;
  }

  async run(): Promise<void> {
    const { signal } = this.#shared;
    const watch = setInterval(() => this.#takeFromSleeper(), DEAF / 4);
    this.#channel.postMessage({ kind: 'who' } satisfies Word);
    try {
      while (!signal.aborted) await this.#runAsLeader(false);
    } finally {
      clearInterval(watch);
      this.#channel.close();
    }
  }

  /** Waits for the lock, and leads until another tab takes it away. */
  async #runAsLeader(isTaken: boolean): Promise<void> {
    const { name, signal } = this.#shared;
    const over = new AbortController();
    const isOver = AbortSignal.any([signal, over.signal]);
    let pause = 100;
    const asked: LockOptions = isTaken ? { steal: true } : { signal };
    try {
      // A page without https has no locks, and reads for itself.
      if (navigator.locks === undefined) await this.#read(isOver);
      else await navigator.locks.request(name, asked, () => this.#read(isOver));
    } catch (error) {
      if (error instanceof DOMException && error.name === 'AbortError') return;
      pause = AFTER_REFUSAL;
      this.#shared.refused(error);
    } finally {
      over.abort();
      this.#leads = false;
    }
    if (!signal.aborted) await new Promise((done) => setTimeout(done, pause));
  }

  async #read(signal: AbortSignal): Promise<void> {
    this.#leads = true;
    const { calls } = this.#shared;
    await followStream({
      calls,
      path: 'v2/events',
      after: this.#last,
      signal,
      message: (message) => this.#pass({ kind: 'message', message }),
      beat: () => this.#channel.postMessage({ kind: 'beat' } satisfies Word),
      state: (connection) => this.#pass({ kind: 'state', connection }),
    });
  }

  #pass(word: Word): void {
    if (this.#shared.signal.aborted) return;
    this.#take(word);
    this.#channel.postMessage(word);
  }

  #handleWord(word: Word): void {
    if (word.kind !== 'who') return this.#take(word);
    if (this.#leads)
      this.#channel.postMessage({ kind: 'state', connection: this.#connection } satisfies Word);
  }

  #take(word: Word): void {
    this.#heard = performance.now();
    if (word.kind === 'message') {
      this.#last = word.message.id ?? this.#last;
      this.#shared.message(word.message);
    } else if (word.kind === 'state') {
      this.#connection = word.connection;
      this.#shared.state(word.connection);
    }
  }

  #takeFromSleeper(): void {
    const isDeaf = performance.now() - this.#heard > DEAF;
    if (
      !isDeaf ||
      this.#leads ||
      document.visibilityState !== 'visible' ||
      this.#connection.kind === 'offline'
    )
      return;
    this.#heard = performance.now();
    void this.#runAsLeader(true);
  }
}
