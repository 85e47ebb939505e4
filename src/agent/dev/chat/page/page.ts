import { Api, Refused, type ListedAssistant, type ListedThread } from './api.ts';
import { EMPTY, entriesOf, opened, withEvent, withSent, withState, type Conversation, type Entry, type Message } from './conversation.ts';
import type { ServerSentEvent } from './server-sent-events.ts';
import { element, KeyedList, shownEntry, shownQuestion, shownState } from './shown.ts';
import { inputOf, resumeOf, titleOf, wordsOfFault } from './words.ts';

const find = <T extends HTMLElement>(id: string): T => document.querySelector<T>(`#${id}`)!;

const MARKS: Record<string, string> = { busy: 'works', interrupted: 'asks', error: 'failed' };

/** Milliseconds before a run whose stream has broken is followed again. */
const PAUSE = 300;

/** A line of the conversation: an entry, or the rest of the state below them. */
type Line = Entry | { id: 'state'; state: object } | { id: 'welcome' };

/** Returns the key that the link to this page had, which is kept as long as its tab. */
function keyOfServer(): string | null {
  const key = new URLSearchParams(location.hash.slice(1)).get('key');
  if (key !== null) sessionStorage.setItem('key', key);
  return key ?? sessionStorage.getItem('key');
}

/** The page. It shows the conversation, which each run changes event by event. */
class ChatPage {
  readonly #api = new Api(new URL('.', location.href).href, keyOfServer());
  readonly #log = find('log');
  readonly #lines = new KeyedList(this.#log);
  readonly #threads = new KeyedList(find('threads'));
  readonly #assistant = find<HTMLSelectElement>('assistant');
  readonly #text = find<HTMLTextAreaElement>('text');
  #assistants: ListedAssistant[] = [];
  #conversation: Conversation = EMPTY;
  #thread: string | undefined;
  #run: string | undefined;
  /** The stream that is read now, if any. */
  #reading: AbortController | undefined;
  #isDrawn = true;

  async start(): Promise<void> {
    this.#listen();
    await this.#load().catch((error: unknown) => this.#complain(error));
  }

  async #load(): Promise<void> {
    this.#assistants = await this.#api.assistants();
    this.#assistant.append(...this.#assistants.map(({ assistant_id: value, name }) => element('option', { value }, name)));
    this.#describe();
    void this.#listFaults();
    const thread = new URLSearchParams(location.hash.slice(1)).get('thread');
    await Promise.all([this.#list(), thread === null ? this.#draw() : this.#open(thread)]);
  }

  #listen(): void {
    const tell = (work: () => Promise<void>) => (event: Event) => {
      event.preventDefault();
      work().catch((error: unknown) => this.#complain(error));
    };
    window.addEventListener('focus', () => void this.#listFaults());
    this.#assistant.addEventListener('change', () => this.#describe());
    find('new').addEventListener('click', () => this.#leave());
    find('stop').addEventListener(
      'click',
      tell(() => this.#stop()),
    );
    find('say').addEventListener(
      'submit',
      tell(() => this.#say()),
    );
    find('answers').addEventListener(
      'submit',
      tell(() => this.#answer()),
    );
    this.#text.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      find<HTMLFormElement>('say').requestSubmit();
    });
  }

  /** Shows which graphs can't be loaded. A developer who has fixed one comes back from the editor to this window. */
  async #listFaults(): Promise<void> {
    // A server without /info, or one that is just restarting, has nothing to tell.
    const faults = await this.#api.graphErrors().catch(() => []);
    find('faults').replaceChildren(...faults.map((fault) => element('li', {}, wordsOfFault(fault))));
    find('faults').hidden = faults.length === 0;
  }

  #describe(): void {
    find('description').textContent = this.#assistants.find((one) => one.assistant_id === this.#assistant.value)?.description ?? '';
  }

  #complain(error: unknown): void {
    if ((error as Error).name === 'AbortError') return;
    this.#change({ ...this.#conversation, error: (error as Error).message });
  }

  async #list(): Promise<void> {
    const threads = (await this.#api.threads()).map(({ thread_id: id, status, values }) => ({
      id,
      title: titleOf({ thread_id: id, values }),
      mark: MARKS[status],
      isCurrent: id === this.#thread,
    }));
    this.#threads.show(
      threads,
      ({ id }) => id,
      ({ id, title, mark, isCurrent }) => {
        const button = element('button', { type: 'button', title, ...(isCurrent && { 'aria-current': 'true' }) });
        button.append(...(mark === undefined ? [] : [element('span', { class: 'mark' }, mark)]), title);
        button.addEventListener('click', () => void this.#open(id).catch((error: unknown) => this.#complain(error)));
        return element('li', {}, button);
      },
    );
  }

  /** Leaves for another thread, or for none. The run that was read goes on without this page. */
  #leave(thread?: string): void {
    this.#reading?.abort();
    this.#reading = undefined;
    this.#run = undefined;
    this.#thread = thread;
    history.replaceState(null, '', thread === undefined ? location.pathname : `#thread=${thread}`);
    this.#change(EMPTY);
    this.#text.focus();
    void this.#list().catch((error: unknown) => this.#complain(error));
  }

  async #open(id: string): Promise<void> {
    this.#leave(id);
    const thread: ListedThread = await this.#api.thread(id).catch((error: unknown) => {
      // The thread is gone, as after `dev --reset`. The next message begins another one.
      if (error instanceof Refused && this.#thread === id) this.#leave();
      throw error;
    });
    const own = thread.metadata?.assistant_id;
    if (this.#assistants.some(({ assistant_id: known }) => known === own)) this.#assistant.value = own!;
    this.#describe();
    const state = await this.#api.state(id);
    if (this.#thread !== id) return;
    this.#change(withState(opened(thread), state));
    const run = await this.#api.underWay(id);
    if (run === undefined || this.#thread !== id) return;
    await this.#follow((signal) => this.#joined(run.run_id, signal));
  }

  async #say(): Promise<void> {
    const sent = this.#text.value.trim();
    if (sent === '' || this.#reading !== undefined) return;
    const { input, message } = inputOf(sent);
    this.#text.value = '';
    await this.#begin({ input }, message).catch((error: unknown) => {
      this.#text.value ||= sent;
      throw error;
    });
  }

  async #answer(): Promise<void> {
    const inputs = [...find('answers').querySelectorAll('input')];
    await this.#begin({
      command: {
        resume: resumeOf(
          this.#conversation.questions,
          inputs.map(({ value }) => value.trim()),
        ),
      },
    });
  }

  /** Starts a run, on a new thread if there is none. Settles once it runs; its events are read meanwhile. */
  async #begin(what: object, sent?: Message): Promise<void> {
    this.#thread ??= (await this.#api.createThread()).thread_id;
    const thread = this.#thread;
    history.replaceState(null, '', `#thread=${thread}`);
    this.#change(withSent(this.#conversation, sent));
    const body = { assistant_id: this.#assistant.value, ...what };
    void this.#follow((signal) => this.#api.start(thread, body, signal)).catch((error: unknown) => this.#complain(error));
  }

  async #follow(events: (signal: AbortSignal) => AsyncGenerator<ServerSentEvent>): Promise<void> {
    const reading = new AbortController();
    this.#reading = reading;
    this.#draw();
    const thread = this.#thread!;
    try {
      await this.#read(events(reading.signal));
      // Where `dev` has loaded the graphs again meanwhile, another server goes on with the run.
      for (let run = await this.#api.underWay(thread); run !== undefined; run = await this.#api.underWay(thread)) {
        await new Promise((resolve) => setTimeout(resolve, PAUSE));
        if (reading.signal.aborted) return;
        await this.#read(this.#joined(run.run_id, reading.signal));
      }
      const state = await this.#api.state(thread);
      if (!reading.signal.aborted) this.#change(withState(this.#conversation, state));
    } finally {
      if (this.#reading === reading) {
        this.#reading = undefined;
        this.#run = undefined;
        this.#draw();
        void this.#list().catch((error: unknown) => this.#complain(error));
        void this.#listFaults();
      }
    }
  }

  async #read(events: AsyncGenerator<ServerSentEvent>): Promise<void> {
    for await (const event of events) {
      if (event.event === 'metadata') this.#began(event.data as { run_id: string });
      this.#change(withEvent(this.#conversation, event));
    }
  }

  #joined(run: string, signal: AbortSignal): AsyncGenerator<ServerSentEvent> {
    this.#run = run;
    return this.#api.join(this.#thread!, run, signal);
  }

  #began({ run_id: run }: { run_id: string }): void {
    this.#run = run;
    void this.#list().catch((error: unknown) => this.#complain(error));
  }

  async #stop(): Promise<void> {
    if (this.#thread !== undefined && this.#run !== undefined) await this.#api.cancel(this.#thread, this.#run);
  }

  #change(conversation: Conversation): void {
    this.#conversation = conversation;
    if (!this.#isDrawn) return;
    this.#isDrawn = false;
    requestAnimationFrame(() => this.#draw());
  }

  #draw(): void {
    this.#isDrawn = true;
    const { state, questions, error } = this.#conversation;
    const isAtEnd = this.#log.scrollHeight - this.#log.scrollTop - this.#log.clientHeight < 60;
    const entries: Line[] = entriesOf(this.#conversation);
    const rest: Line[] = Object.keys(state).length > 0 ? [{ id: 'state', state }] : [];
    const lines = [...entries, ...rest];
    this.#lines.show<Line>(
      lines.length > 0 ? lines : [{ id: 'welcome' }],
      ({ id }) => id,
      (line) => {
        if ('speaker' in line) return shownEntry(line);
        return 'state' in line ? shownState(line.state) : element('p', { class: 'welcome' }, 'Say something to your agent.');
      },
    );
    if (isAtEnd) this.#log.scrollTop = this.#log.scrollHeight;
    this.#drawForms(questions, error);
  }

  #drawForms(questions: Conversation['questions'], error: string | undefined): void {
    const isBusy = this.#reading !== undefined;
    this.#log.setAttribute('aria-busy', String(isBusy));
    find('error').hidden = error === undefined;
    find('error').textContent = error ?? '';
    find('stop').hidden = !isBusy;
    find('send').hidden = isBusy;
    const answers = find('answers');
    const asked = isBusy ? [] : questions;
    const content = JSON.stringify(asked);
    find('say').hidden = asked.length > 0;
    answers.hidden = asked.length === 0;
    if (answers.dataset['asked'] === content) return;
    answers.dataset['asked'] = content;
    answers.replaceChildren(
      ...asked.map(({ value }, index) => shownQuestion(value, index)),
      element('button', { type: 'submit' }, 'Answer'),
    );
    answers.querySelector('input')?.focus();
  }
}

await new ChatPage().start();
