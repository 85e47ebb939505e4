import { signal } from '@preact/signals';
import { failureText } from '../api/failure-text.ts';
import type { StudioAgent } from './agent.ts';
import type { ListedCheckpoint, StudioThread, ShownState } from './agent-answers.ts';

/** A thread that is looked at: its checkpoints so far, and the state at the chosen one. */
export class WatchedThread {
  readonly thread = signal<StudioThread | undefined>(undefined);
  readonly checkpoints = signal<ListedCheckpoint[] | undefined>(undefined);
  /** Whether there are older checkpoints. */
  readonly more = signal(false);
  readonly chosen = signal<string | undefined>(undefined);
  readonly state = signal<ShownState | undefined>(undefined);
  readonly refused = signal<string | undefined>(undefined);
  readonly #agent: StudioAgent;
  readonly #id: string;
  #leaving = new AbortController();
  #choosing = new AbortController();

  constructor(agent: StudioAgent, id: string) {
    this.#agent = agent;
    this.#id = id;
  }

  /** Reads the thread and its newest state. Returns a function that ends this. */
  begin(): () => void {
    this.#leaving = new AbortController();
    void this.#read();
    return () => {
      this.#leaving.abort();
      this.#choosing.abort();
    };
  }

  /** Shows the state at another checkpoint. */
  choose(checkpoint: string): void {
    this.#choosing.abort();
    this.#choosing = new AbortController();
    const { signal: over } = this.#choosing;
    this.chosen.value = checkpoint;
    void this.#tried(async () => {
      const state = await this.#agent.state(this.#id, checkpoint, over);
      if (!over.aborted) this.state.value = state;
    }, over);
  }

  /** Reads the checkpoints before those that are known. */
  async older(): Promise<void> {
    const known = this.checkpoints.value ?? [];
    const { signal: over } = this.#leaving;
    await this.#tried(async () => {
      const { found, more } = await this.#agent.checkpoints(this.#id, known.at(-1)?.id, over);
      this.checkpoints.value = [...known, ...found];
      this.more.value = more;
    }, over);
  }

  /** Runs from the chosen checkpoint on, and shows the end of that. Returns whether it was done. */
  async runFromHere(): Promise<boolean> {
    const { value: thread } = this.thread;
    const { value: chosen } = this.chosen;
    if (thread === undefined || chosen === undefined) return false;
    const done = await this.#tried(() => this.#agent.runFrom(thread, chosen), this.#leaving.signal);
    return done && this.#read();
  }

  #read(): Promise<boolean> {
    const { signal: over } = this.#leaving;
    return this.#tried(async () => {
      const [thread, { found, more }] = await Promise.all([
        this.#agent.thread(this.#id, over),
        this.#agent.checkpoints(this.#id, undefined, over),
      ]);
      this.thread.value = thread;
      this.checkpoints.value = found;
      this.more.value = more;
      const [newest] = found;
      if (newest !== undefined) this.choose(newest.id);
    }, over);
  }

  /** Does some work. Returns whether it was done; a failure is shown as a sentence. */
  async #tried(work: () => Promise<unknown>, over: AbortSignal): Promise<boolean> {
    try {
      await work();
      this.refused.value = undefined;
      return true;
    } catch (error) {
      if (!over.aborted) this.refused.value = failureText(error);
      return false;
    }
  }
}
