import { computed, effect, signal, untracked } from '@preact/signals';
import { createSharedParts } from './shared-parts.ts';
import { Calls, RequestRefused } from '../api/calls.ts';
import { readSession, signOut, type ReaderSession } from '../api/session.ts';
import { DeploymentsStore } from '../live/deployments-store.ts';
import type { Connection } from '../live/follow-stream.ts';
import { SharedEvents } from '../live/shared-events.ts';
import { createPreferences } from './preferences.ts';
import { Router } from './router.ts';
import { describeFailure } from '../api/failure-text.ts';

/** Milliseconds for which a sentence is shown, and one that can be taken back. */
const SHOWN_MS = 8000;
const UNDO_MS = 20_000;

/** The parts that the whole page shares. */
export class ConsoleApp {
  readonly router = new Router();
  readonly preferences = createPreferences();
  readonly calls = new Calls({
    tenant: () => this.router.located.value.tenant,
    ended: (reason) => this.#end(reason),
  });
  /** Undefined until the server has answered. */
  readonly session = signal<ReaderSession | undefined>(undefined);
  readonly connection = signal<Connection>({ kind: 'connecting' });
  readonly store = signal(new DeploymentsStore());
  /** A failure that nobody caught, as a sentence. */
  readonly fault = signal<string | undefined>(undefined);
  /** A sentence that screen readers read, and that is shown for a while, with the way back where there is one. */
  readonly notice = signal('');
  readonly undo = signal<(() => void) | undefined>(undefined);
  /** The time, every ten seconds. Relative times follow it. */
  readonly now = signal(Date.now());
  #following: AbortController | undefined;

  /** Begins: asks whose session it is, and follows the deployments as long as there is one. */
  start(): void {
    this.router.listen();
    setInterval(() => (this.now.value = Date.now()), 10_000);
    const reader = computed(() => {
      const { value: session } = this.session;
      if (session?.signed_in !== true) return undefined;
      return `${session.subject ?? ''} ${this.router.located.value.tenant ?? session.tenant_id ?? ''}`;
    });
    effect(() => {
      const name = reader.value;
      this.#following?.abort();
      if (name !== undefined) untracked(() => this.#follow(name));
    });
    void this.refresh();
  }

  async refresh(): Promise<void> {
    try {
      this.session.value = await readSession(this.calls);
      this.fault.value = undefined;
    } catch (error) {
      this.fault.value = describeFailure(error);
    }
  }

  async leave(): Promise<void> {
    await signOut(this.calls);
    this.#end('signed_out');
  }

  get mayWrite(): boolean {
    return this.session.value?.role === 'write' || this.session.value?.role === 'admin';
  }

  /** Shows a sentence for a while, and lets screen readers read it. `undo` reverts the action that it tells of. */
  announce(sentence: string, undo?: () => void): void {
    this.notice.value = sentence;
    this.undo.value = undo;
    setTimeout(
      () => {
        if (this.notice.value === sentence && this.undo.value === undo) this.dismiss();
      },
      undo === undefined ? SHOWN_MS : UNDO_MS,
    );
  }

  /** Takes the shown sentence away. */
  dismiss(): void {
    this.notice.value = '';
    this.undo.value = undefined;
  }

  #end(reason: string | undefined): void {
    if (this.session.value?.signed_in === false) return;
    this.session.value = { signed_in: false, ...(reason !== undefined && { reason }) };
  }

  #follow(name: string): void {
    const following = (this.#following = new AbortController());
    const store = new DeploymentsStore();
    this.store.value = store;
    let isBegun = false;
    const load = (): void => {
      isBegun = true;
      store.load(this.calls).catch((error: unknown) => this.#handleFailure(error));
    };
    const events = new SharedEvents({
      calls: this.calls,
      name: `gx-console ${new URL(document.baseURI).pathname} ${name}`,
      signal: following.signal,
      state: (connection) => {
        this.connection.value = connection;
        // This tab came while another one leads: the changes from now on come, so the list is complete with the pages.
        if (connection.kind === 'live' && !isBegun && !events.leads) load();
      },
      message: (message) => {
        if (!store.take(message)) load();
      },
      refused: (error) => this.#handleFailure(error),
    });
    void events.run();
  }

  #handleFailure(error: unknown): void {
    if (error instanceof DOMException && error.name === 'AbortError') return;
    if (error instanceof RequestRefused && error.status === 401) return;
    this.announce(describeFailure(error));
  }
}

export const [AppProvider, useApp] = createSharedParts<ConsoleApp>('The page has no app.');
