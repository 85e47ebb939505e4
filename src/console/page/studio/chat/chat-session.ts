import { signal } from '@preact/signals';
import { RequestRefused } from '../../api/calls.ts';
import { describeFailure } from '../../api/failure-text.ts';
import { listThreadQuestions, resumeWith, type ThreadQuestion } from '../questions/questions.ts';
import { listLineage } from '../history/lineage.ts';
import type { FormField } from '../forms/schema-fields.ts';
import type { StudioAgent } from '../agent.ts';
import type { StudioAssistant, StudioThread } from '../agent-answers.ts';
import {
  applyRunEvent,
  prepareRun,
  NO_RUN,
  mergeStateMessages,
  mergePastMessages,
  type LiveRun,
} from './live-run.ts';
import { fetchPastRuns } from './past-runs.ts';
import { checkPickedFile, readPickedFile, type PickedFile } from './picked-files.ts';
import type { RunTurn } from './run-turns.ts';
import type { MessageFields } from './message-pieces.ts';
import type { RunStreamEvent } from '../run-stream.ts';
import { findFirstWith, findForkPoint } from './forks.ts';

/** How an input is written: as a message, in a form, or as JSON. */
export type InputMode = 'message' | 'form' | 'json';

const PAUSE = 300;
const ANSWERED =
  'Someone else has answered this meanwhile. Nothing was changed; you see the current thread.';
const BUSY = 'A run is under way in this thread. Nothing was changed.';

/** A conversation with an agent on a thread, which is made with the first message. */
export class ChatSession {
  readonly thread = signal<string | undefined>(undefined);
  readonly assistants = signal<StudioAssistant[]>([]);
  readonly assistant = signal('');
  readonly live = signal<LiveRun>(NO_RUN);
  readonly questions = signal<ThreadQuestion[]>([]);
  /** Nodes before which the next runs stop, and those before which the thread stands. */
  readonly stops = signal<ReadonlySet<string>>(new Set());
  readonly next = signal<readonly string[]>([]);
  readonly isBusy = signal(false);
  readonly isRead = signal(false);
  readonly refused = signal<string | undefined>(undefined);
  /** The number of runs that have ended here. The panes beside the conversation read the thread again then. */
  readonly turns = signal(0);
  /** The last runs, with their steps. */
  readonly pastRuns = signal<RunTurn[]>([]);
  /** The text, the files and the form of the input that is being written, and the fields of the graph's input. */
  readonly draft = signal('');
  readonly files = signal<PickedFile[]>([]);
  readonly mode = signal<InputMode | undefined>(undefined);
  readonly fields = signal<FormField[] | undefined>(undefined);
  readonly #agent: StudioAgent;
  readonly #made: (thread: string) => void;
  #leaving = new AbortController();
  /** The reader has stopped a run whose id is not known yet. */
  #isStopAsked = false;
  /** The checkpoint of the thread as it was last read, and the length of its state. */
  #newest = { id: '', letters: 0 };

  /** `made` is called with the id of the thread that a first message makes. */
  constructor(agent: StudioAgent, thread: string | undefined, made: (thread: string) => void) {
    this.#agent = agent;
    this.thread.value = thread;
    this.#made = made;
  }

  /** Reads the thread, and joins the run that it is busy with. Returns a function that ends this; a run goes on. */
  begin(): () => void {
    this.#leaving = new AbortController();
    void this.#tryWork(() => this.#open(this.#leaving.signal));
    return () => this.#leaving.abort();
  }

  /** Reads the thread once more, which somebody has changed beside the conversation. */
  readAgain(): void {
    const { signal: over } = this.#leaving;
    void this.#tryWork(async () => {
      await this.#refresh(over);
      await this.#follow(this.thread.value ?? '', over);
    });
  }

  /** Sends an input. Returns whether a run of it was begun. */
  send(input: unknown, shown: MessageFields | undefined): Promise<boolean> {
    return this.#run({ input }, shown);
  }

  /** Takes files for the next message. One that is too large is refused by a sentence. */
  async addFiles(files: readonly File[]): Promise<void> {
    await this.#tryWork(async () => {
      for (const file of files) {
        const fault = checkPickedFile(file, this.files.value);
        if (fault !== undefined) throw new Error(fault);
        const picked = await readPickedFile(file);
        this.files.value = [...this.files.value, picked];
      }
    });
    this.mode.value = 'message';
  }

  /** Answers questions by their ids, unless somebody else was faster. */
  async answer(answers: readonly { id: string; answer: unknown }[]): Promise<boolean> {
    const isOpen = await this.#tryWork(async () => {
      const { value: thread = '' } = this.thread;
      const { interrupts } = await this.#agent.fetchNewest(thread, this.#leaving.signal);
      const open = listThreadQuestions(interrupts).map(({ id }) => id);
      if (answers.every(({ id }) => open.includes(id))) return;
      await this.#refresh(this.#leaving.signal);
      throw new Error(ANSWERED);
    });
    return (
      isOpen &&
      this.#run({ command: { resume: resumeWith(answers) }, strict_resume: true }, undefined, {
        conflict: ANSWERED,
      })
    );
  }

  /** Sends another message in place of an earlier one. The messages behind that one stay in the thread, as a branch. */
  replaceMessage(message: string, input: unknown, shown: MessageFields): Promise<boolean> {
    return this.#runFork(message, 'before its input', { input }, shown);
  }

  /** Lets the agent write a message once more. The former one stays in the thread, as a branch. */
  repeatMessage(message: string): Promise<boolean> {
    return this.#runFork(message, 'before its step', { input: null }, undefined);
  }

  /** Goes on with a thread that stands before a node. */
  resume(): Promise<boolean> {
    return this.#run({ input: null }, undefined);
  }

  async stop(): Promise<void> {
    const { value: thread } = this.thread;
    const { runId } = this.live.value;
    this.#isStopAsked = runId === undefined;
    if (thread !== undefined && runId !== undefined)
      await this.#tryWork(() => this.#agent.cancel(thread, runId));
  }

  async #runFork(
    message: string,
    place: 'before its input' | 'before its step',
    body: object,
    shown: MessageFields | undefined,
  ): Promise<boolean> {
    if (this.isBusy.value) return false;
    this.isBusy.value = true;
    let from: string | undefined;
    const isFound = await this.#tryWork(async () => {
      const { signal: over } = this.#leaving;
      const { value: thread = '' } = this.thread;
      const [{ id: newest }, known] = await Promise.all([
        this.#agent.fetchNewest(thread, over),
        this.#agent.listAllCheckpoints(thread, over),
      ]);
      const lineage = listLineage(known, newest);
      const first = await findFirstWith(lineage, message, (id) =>
        this.#agent.fetchState(thread, id, over),
      );
      from = findForkPoint(known, first, place);
      if (from === undefined)
        throw new Error('There is no checkpoint from which this can be run again.');
    });
    this.isBusy.value = false;
    return isFound && this.#run({ checkpoint_id: from, ...body }, shown, { instead: message });
  }

  async #open(over: AbortSignal): Promise<void> {
    const { value: id } = this.thread;
    const [assistants, thread] = await Promise.all([
      this.#agent.listAssistants(over),
      id === undefined ? undefined : this.#agent.fetchThread(id, over),
    ]);
    this.assistants.value = assistants;
    this.assistant.value = chooseAssistant(assistants, thread);
    this.isRead.value = true;
    if (thread === undefined) return;
    await this.#refresh(over);
    if (thread.error !== '')
      this.live.value = { ...this.live.value, error: thread.error, stack: thread.stack };
    await this.#follow(thread.id, over);
    await this.#readPastRuns(over, true);
  }

  /** Reads the runs of the thread. They are an addition: it is shown without them, too. */
  async #readPastRuns(over: AbortSignal, withNested: boolean): Promise<void> {
    const asked = { thread: this.thread.value ?? '', newest: this.#newest, withNested };
    const past = await fetchPastRuns(this.#agent, asked, over).catch(() => undefined);
    if (past === undefined || over.aborted || asked.newest !== this.#newest) return;
    this.pastRuns.value = past.turns;
    this.live.value = mergePastMessages(this.live.value, past.nested);
  }

  async #refresh(over: AbortSignal): Promise<void> {
    const { id, letters, messages, interrupts, next, fault } = await this.#agent.fetchNewest(
      this.thread.value ?? '',
      over,
    );
    this.#newest = { id, letters };
    this.live.value = mergeStateMessages({ ...this.live.value, messages: [] }, messages);
    if (fault !== '')
      this.live.value = { ...this.live.value, error: `The graph refuses this state. ${fault}` };
    this.next.value = next;
    this.questions.value = listThreadQuestions(interrupts);
  }

  /** Starts a run and reads it to its end. Settles with the answer whether it was begun. */
  async #run(
    body: object,
    shown: MessageFields | undefined,
    {
      instead,
      conflict = BUSY,
    }: {
      /** The message that the run writes once more. */
      instead?: string;
      /** The sentence where the thread has changed. */
      conflict?: string;
    } = {},
  ): Promise<boolean> {
    if (this.isBusy.value) return false;
    this.isBusy.value = true;
    this.#isStopAsked = false;
    const { signal: over } = this.#leaving;
    const before = this.live.value;
    const begun = Promise.withResolvers<boolean>();
    const runWork = async (): Promise<void> => {
      const thread = await this.#ensureThread();
      const kept = instead === undefined ? before.messages : takeBefore(before.messages, instead);
      this.live.value = prepareRun(before, shown === undefined ? kept : [...kept, shown]);
      this.questions.value = [];
      const started = this.#agent.start(
        thread,
        { assistant_id: this.assistant.value, ...this.#buildInterrupts(), ...body },
        over,
      );
      await this.#read(started, () => begun.resolve(true));
      await this.#follow(thread, over);
      await this.#refresh(over);
    };
    const finish = async (): Promise<void> => {
      const isDone = await this.#tryWork(runWork, conflict);
      begun.resolve(isDone);
      if (!isDone) await this.#refreshRefused(over);
      this.isBusy.value = false;
      this.turns.value += 1;
      if (isDone) await this.#readPastRuns(over, false);
    };
    void finish();
    return begun.promise;
  }

  /** Shows the thread as it is after a refusal, with the run that somebody else has begun. */
  async #refreshRefused(over: AbortSignal): Promise<void> {
    const { value: thread } = this.thread;
    if (thread === undefined) return;
    try {
      await this.#refresh(over);
      await this.#follow(thread, over);
    } catch {
      // The reader sees the refusal in any case.
    }
  }

  #buildInterrupts(): object {
    const { value: stops } = this.stops;
    return stops.size === 0 ? {} : { interrupt_before: [...stops] };
  }

  /** Follows the runs that go on in the thread, also when another server goes on with one. */
  async #follow(thread: string, over: AbortSignal): Promise<void> {
    for (
      let run = await this.#agent.findActiveRun(thread, over);
      run !== undefined;
      run = await this.#agent.findActiveRun(thread, over)
    ) {
      this.isBusy.value = true;
      try {
        this.live.value = { ...this.live.value, runId: run };
        await this.#read(this.#agent.join(thread, run, over), () => undefined);
        await new Promise((resolve) => setTimeout(resolve, PAUSE));
        if (over.aborted) return;
        await this.#refresh(over);
      } finally {
        this.isBusy.value = false;
        this.turns.value += 1;
      }
    }
  }

  async #read(events: AsyncGenerator<RunStreamEvent>, first: () => void): Promise<void> {
    for await (const event of events) {
      first();
      this.live.value = applyRunEvent(this.live.value, event);
      if (this.#isStopAsked && this.live.value.runId !== undefined) void this.stop();
    }
  }

  async #ensureThread(): Promise<string> {
    const { value: known } = this.thread;
    if (known !== undefined) return known;
    const graph = this.assistants.value.find(({ id }) => id === this.assistant.value)?.graph ?? '';
    const made = await this.#agent.createThread(graph);
    this.thread.value = made;
    this.#made(made);
    return made;
  }

  async #tryWork(work: () => Promise<unknown>, conflict: string = BUSY): Promise<boolean> {
    const { signal: over } = this.#leaving;
    try {
      this.refused.value = undefined;
      await work();
      return true;
    } catch (error) {
      if (!over.aborted)
        this.refused.value =
          error instanceof RequestRefused && error.status === 409
            ? conflict
            : describeFailure(error);
      return false;
    }
  }
}

function chooseAssistant(
  assistants: readonly StudioAssistant[],
  thread: StudioThread | undefined,
): string {
  const { assistant_id: id, graph_id: graph } = thread?.metadata ?? {};
  const own =
    assistants.find((one) => one.id === id) ??
    assistants.find((one) => one.graph === graph) ??
    assistants[0];
  return own?.id ?? '';
}

function takeBefore(messages: MessageFields[], id: string): MessageFields[] {
  const at = messages.findIndex((one) => one['id'] === id);
  return at < 0 ? messages : messages.slice(0, at);
}
