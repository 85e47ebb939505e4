import { signal } from '@preact/signals';
import { describeFailure } from '../../api/failure-text.ts';
import { readThreadAssistant, type StudioAgent } from '../agent.ts';
import {
  describeStateFault,
  toText,
  type AssistantVersion,
  type ListedCheckpoint,
  type StudioAssistant,
  type StudioThread,
} from '../agent-answers.ts';
import type { JsonChanges } from '../json/changes-shown.tsx';
import { listJsonDifferences } from '../json/json-difference.ts';
import type { JsonNode } from '../json/json-scan.ts';
import type { ScannedJson } from '../json/json-text.ts';
import { testCaseText, type CasedRun } from './test-case.ts';

/** The state at a checkpoint: its text, the place of its values there, and why its graph refuses it, if it does. */
export type StateThen = { json: ScannedJson; values: JsonNode; fault: string };

/** Letters of a state that is compared with the one before it as soon as it is chosen. */
const COMPARED_AT_ONCE = 500_000;

/** The history of a thread, and the checkpoint in it that is looked at. */
export class TimeTravel {
  readonly checkpoints = signal<ListedCheckpoint[] | undefined>(undefined);
  readonly chosen = signal<ListedCheckpoint | undefined>(undefined);
  readonly state = signal<StateThen | undefined>(undefined);
  readonly changes = signal<JsonChanges | undefined>(undefined);
  readonly refused = signal<string | undefined>(undefined);
  readonly isBusy = signal(false);
  /** The assistants of the agent, and the one that runs from here; empty is the thread's own. */
  readonly assistants = signal<StudioAssistant[]>([]);
  readonly assistant = signal('');
  /** The versions of that one, and the one that is chosen; the newest unless the reader chooses. */
  readonly versions = signal<AssistantVersion[]>([]);
  readonly version = signal<number | undefined>(undefined);
  readonly #graph = signal('');
  readonly #agent: StudioAgent;
  readonly #id: string;
  #leaving = new AbortController();
  #choosing = new AbortController();

  constructor(agent: StudioAgent, id: string) {
    this.#agent = agent;
    this.#id = id;
  }

  /** Reads the history and its newest state. Returns a function that ends this. */
  begin(): () => void {
    this.#leaving = new AbortController();
    void this.#read();
    void this.#tryWork(async () => {
      const { signal: over } = this.#leaving;
      this.assistants.value = await this.#agent.listAssistants(over);
      const thread = await this.#agent.fetchThread(this.#id, over);
      this.#graph.value = toText(thread.metadata['graph_id']);
      await this.#readVersions(readThreadAssistant(thread));
    }, this.#leaving.signal);
    return () => {
      this.#leaving.abort();
      this.#choosing.abort();
    };
  }

  choose(checkpoint: ListedCheckpoint): void {
    this.#choosing.abort();
    this.#choosing = new AbortController();
    const { signal: over } = this.#choosing;
    this.chosen.value = checkpoint;
    this.state.value = undefined;
    this.changes.value = undefined;
    void this.#tryWork(async () => {
      const state = await this.#fetchState(checkpoint.id, over);
      if (over.aborted) return;
      this.state.value = state;
      if (state.json.text.length < COMPARED_AT_ONCE) await this.compare();
    }, over);
  }

  /** Takes another assistant for the next run; empty is the thread's own. */
  take(assistant: string): void {
    this.assistant.value = assistant;
    void this.#tryWork(async () => {
      const own =
        assistant === ''
          ? readThreadAssistant(await this.#agent.fetchThread(this.#id, this.#leaving.signal))
          : assistant;
      await this.#readVersions(own);
    }, this.#leaving.signal);
  }

  /** Says why the chosen version can't run from a checkpoint of this thread; undefined where it can. */
  explainVersionFault(): string | undefined {
    const chosen = this.versions.value.find(({ version }) => version === this.version.value);
    if (chosen === undefined || chosen.graph === this.#graph.value || this.#graph.value === '')
      return undefined;
    return `Version ${chosen.version} is of the graph "${chosen.graph}". This thread's checkpoints are of "${this.#graph.value}", so it can't run from here.`;
  }

  async #readVersions(asked: string): Promise<void> {
    // A thread may name its graph, whose own assistant has an id.
    const known = this.assistants.value.find(
      ({ id, graph, name }) => id === asked || (graph === asked && name === asked),
    );
    this.version.value = undefined;
    this.versions.value =
      known === undefined ? [] : await this.#agent.listVersions(known.id, this.#leaving.signal);
  }

  async compare(): Promise<void> {
    const { signal: over } = this.#choosing;
    const { value: after } = this.state;
    const { parent = '' } = this.chosen.value ?? {};
    if (after === undefined || parent === '') return;
    await this.#tryWork(async () => {
      const before = await this.#fetchState(parent, over);
      const found = await listJsonDifferences(
        { json: before.json, node: before.values },
        { json: after.json, node: after.values },
        over,
      );
      if (!over.aborted) this.changes.value = { before: before.json, after: after.json, found };
    }, over);
  }

  /** Runs from the chosen checkpoint on, and shows the end of that. Returns whether it was done. */
  runFromHere(): Promise<boolean> {
    return this.#runAction(async (thread, { id }) =>
      this.#agent.runFrom(thread, id, {
        assistant: this.assistant.value,
        version: this.version.value,
      }),
    );
  }

  /** Returns the chosen state as a test case, with the inputs that led to it; undefined where that was refused. */
  async testCase(): Promise<string[] | undefined> {
    const { value: state } = this.state;
    const { value: chosen } = this.chosen;
    const { signal: over } = this.#choosing;
    let parts: string[] | undefined;
    if (state === undefined || chosen === undefined) return undefined;
    await this.#tryWork(async () => {
      const [{ metadata }, runs] = await Promise.all([
        this.#agent.fetchThread(this.#id, over),
        readCasedRuns(this.#agent, this.#id, over),
      ]);
      const graph = toText(metadata['graph_id']);
      const { id: checkpoint, madeAt } = chosen;
      parts = testCaseText({
        graph,
        thread: this.#id,
        checkpoint,
        madeAt,
        runs,
        state: state.json.listSlices(state.values),
      });
    }, over);
    return parts;
  }

  write(values: unknown): Promise<boolean> {
    return this.#runAction((thread, { id }) => this.#agent.writeState(thread.id, id, values));
  }

  /** Copies the thread. Returns the id of the copy; undefined where that was refused. */
  async copy(): Promise<string | undefined> {
    let made: string | undefined;
    await this.#tryWork(
      async () => (made = await this.#agent.copy(this.#id)),
      this.#leaving.signal,
    );
    return made;
  }

  async #runAction(
    work: (thread: StudioThread, checkpoint: ListedCheckpoint) => Promise<void>,
  ): Promise<boolean> {
    const { value: chosen } = this.chosen;
    if (chosen === undefined || this.isBusy.value) return false;
    this.isBusy.value = true;
    const { signal: over } = this.#leaving;
    const isDone = await this.#tryWork(
      async () => work(await this.#agent.fetchThread(this.#id, over), chosen),
      over,
    );
    this.isBusy.value = false;
    return isDone && this.#read();
  }

  async #fetchState(checkpoint: string, over: AbortSignal): Promise<StateThen> {
    const json = await this.#agent.fetchStateJson(this.#id, checkpoint, over);
    const fault = describeStateFault(
      json.parseSmall(await json.findChild(json.root, 'error', over)),
    );
    return { json, values: (await json.findChild(json.root, 'values', over)) ?? json.root, fault };
  }

  #read(): Promise<boolean> {
    const { signal: over } = this.#leaving;
    return this.#tryWork(async () => {
      let newest: ListedCheckpoint | undefined;
      await this.#agent.listAllCheckpoints(this.#id, over, (known) => {
        this.checkpoints.value = known;
        if (newest === undefined && known[0] !== undefined) this.choose(known[0]);
        newest = known[0];
      });
    }, over);
  }

  /** Does some work. Returns whether it was done; a failure is shown as a sentence. */
  async #tryWork(work: () => Promise<unknown>, over: AbortSignal): Promise<boolean> {
    try {
      await work();
      this.refused.value = undefined;
      return true;
    } catch (error) {
      if (!over.aborted) this.refused.value = describeFailure(error);
      return false;
    }
  }
}

/** Runs of a thread that a test case may have. */
const MOST = 1000;
/** The fields of a run's call that another agent can repeat. */
const SENT = ['input', 'command', 'context'];

/** Reads the runs of a thread with their inputs, which stay as they were sent. */
async function readCasedRuns(
  agent: StudioAgent,
  thread: string,
  over: AbortSignal,
): Promise<CasedRun[]> {
  const query = { limit: MOST, select: ['created_at', 'assistant_id', 'kwargs'] };
  const json = await agent.fetchScanned(`threads/${encodeURIComponent(thread)}/runs`, {
    query,
    signal: over,
  });
  const runs: CasedRun[] = [];
  for (const node of (await json.listChildren(json.root, over)).found) {
    const kwargs = await json.findChild(node, 'kwargs', over);
    const sent: CasedRun['sent'] = {};
    for (const name of SENT) {
      const part = await json.findChild(kwargs, name, over);
      if (part !== undefined) sent[name] = json.getSlice(part);
    }
    const readWord = async (name: string): Promise<string> => {
      const value = json.parseSmall(await json.findChild(node, name, over));
      return typeof value === 'string' ? value : '';
    };
    runs.push({
      madeAt: await readWord('created_at'),
      assistant: await readWord('assistant_id'),
      sent,
    });
  }
  return runs;
}
