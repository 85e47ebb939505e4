import { signal } from '@preact/signals';
import { failureText } from '../../api/failure-text.ts';
import { ownAssistantOf, type StudioAgent } from '../agent.ts';
import {
  faultOfState,
  textOf,
  type AssistantVersion,
  type ListedCheckpoint,
  type StudioAssistant,
  type StudioThread,
} from '../agent-answers.ts';
import type { JsonChanges } from '../json/changes-shown.tsx';
import { jsonDifferences } from '../json/json-difference.ts';
import type { JsonNode } from '../json/json-scan.ts';
import type { ScannedJson } from '../json/json-text.ts';
import { testCaseText, type CasedRun } from './test-case.ts';

/** The state at a checkpoint: its text, the place of its values there, and why its graph refuses it, if it does. */
export type StateThen = { json: ScannedJson; values: JsonNode; fault: string };

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
  /** The thread's graph, of which its checkpoints are. */
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
    void this.#tried(async () => {
      const { signal: over } = this.#leaving;
      this.assistants.value = await this.#agent.assistants(over);
      const thread = await this.#agent.thread(this.#id, over);
      this.#graph.value = textOf(thread.metadata['graph_id']);
      await this.#readVersions(ownAssistantOf(thread));
    }, this.#leaving.signal);
    return () => {
      this.#leaving.abort();
      this.#choosing.abort();
    };
  }

  /** Shows the state at another checkpoint. */
  choose(checkpoint: ListedCheckpoint): void {
    this.#choosing.abort();
    this.#choosing = new AbortController();
    const { signal: over } = this.#choosing;
    this.chosen.value = checkpoint;
    this.state.value = undefined;
    this.changes.value = undefined;
    void this.#tried(async () => {
      const state = await this.#stateAt(checkpoint.id, over);
      if (!over.aborted) this.state.value = state;
    }, over);
  }

  /** Takes another assistant for the next run; empty is the thread's own. */
  take(assistant: string): void {
    this.assistant.value = assistant;
    void this.#tried(async () => {
      const own = assistant === '' ? ownAssistantOf(await this.#agent.thread(this.#id, this.#leaving.signal)) : assistant;
      await this.#readVersions(own);
    }, this.#leaving.signal);
  }

  /** Says why the chosen version can't run from a checkpoint of this thread; undefined where it can. */
  faultOfVersion(): string | undefined {
    const chosen = this.versions.value.find(({ version }) => version === this.version.value);
    if (chosen === undefined || chosen.graph === this.#graph.value || this.#graph.value === '') return undefined;
    return `Version ${chosen.version} is of the graph "${chosen.graph}". This thread's checkpoints are of "${this.#graph.value}", so it can't run from here.`;
  }

  async #readVersions(asked: string): Promise<void> {
    // A thread may name its graph, whose own assistant has an id.
    const known = this.assistants.value.find(({ id, graph, name }) => id === asked || (graph === asked && name === asked));
    this.version.value = undefined;
    this.versions.value = known === undefined ? [] : await this.#agent.versions(known.id, this.#leaving.signal);
  }

  /** Compares the chosen state with the one before it. */
  async compare(): Promise<void> {
    const { signal: over } = this.#choosing;
    const { value: after } = this.state;
    const { parent = '' } = this.chosen.value ?? {};
    if (after === undefined || parent === '') return;
    await this.#tried(async () => {
      const before = await this.#stateAt(parent, over);
      const found = await jsonDifferences({ json: before.json, node: before.values }, { json: after.json, node: after.values }, over);
      if (!over.aborted) this.changes.value = { before: before.json, after: after.json, found };
    }, over);
  }

  /** Runs from the chosen checkpoint on, and shows the end of that. Returns whether it was done. */
  runFromHere(): Promise<boolean> {
    return this.#act(async (thread, { id }) =>
      this.#agent.runFrom(thread, id, { assistant: this.assistant.value, version: this.version.value }),
    );
  }

  /** Returns the chosen state as a test case, with the inputs that led to it; undefined where that was refused. */
  async testCase(): Promise<string[] | undefined> {
    const { value: state } = this.state;
    const { value: chosen } = this.chosen;
    const { signal: over } = this.#choosing;
    let parts: string[] | undefined;
    if (state === undefined || chosen === undefined) return undefined;
    await this.#tried(async () => {
      const [{ metadata }, runs] = await Promise.all([this.#agent.thread(this.#id, over), readCasedRuns(this.#agent, this.#id, over)]);
      const graph = textOf(metadata['graph_id']);
      const { id: checkpoint, madeAt } = chosen;
      parts = testCaseText({ graph, thread: this.#id, checkpoint, madeAt, runs, state: state.json.slices(state.values) });
    }, over);
    return parts;
  }

  /** Writes into the chosen state. Returns whether it was done. */
  write(values: unknown): Promise<boolean> {
    return this.#act((thread, { id }) => this.#agent.writeState(thread.id, id, values));
  }

  /** Copies the thread. Returns the id of the copy; undefined where that was refused. */
  async copy(): Promise<string | undefined> {
    let made: string | undefined;
    await this.#tried(async () => (made = await this.#agent.copy(this.#id)), this.#leaving.signal);
    return made;
  }

  async #act(work: (thread: StudioThread, checkpoint: ListedCheckpoint) => Promise<void>): Promise<boolean> {
    const { value: chosen } = this.chosen;
    if (chosen === undefined || this.isBusy.value) return false;
    this.isBusy.value = true;
    const { signal: over } = this.#leaving;
    const isDone = await this.#tried(async () => work(await this.#agent.thread(this.#id, over), chosen), over);
    this.isBusy.value = false;
    return isDone && this.#read();
  }

  async #stateAt(checkpoint: string, over: AbortSignal): Promise<StateThen> {
    const json = await this.#agent.stateJson(this.#id, checkpoint, over);
    const fault = faultOfState(json.small(await json.child(json.root, 'error', over)));
    return { json, values: (await json.child(json.root, 'values', over)) ?? json.root, fault };
  }

  #read(): Promise<boolean> {
    const { signal: over } = this.#leaving;
    return this.#tried(async () => {
      let newest: ListedCheckpoint | undefined;
      await this.#agent.allCheckpoints(this.#id, over, (known) => {
        this.checkpoints.value = known;
        if (newest === undefined && known[0] !== undefined) this.choose(known[0]);
        newest = known[0];
      });
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

/** Runs of a thread that a test case may have. */
const MOST = 1000;
/** The fields of a run's call that another agent can repeat. */
const SENT = ['input', 'command', 'context'];

/** Reads the runs of a thread with their inputs, which stay as they were sent. */
async function readCasedRuns(agent: StudioAgent, thread: string, over: AbortSignal): Promise<CasedRun[]> {
  const query = { limit: MOST, select: ['created_at', 'assistant_id', 'kwargs'] };
  const json = await agent.scanned(`threads/${encodeURIComponent(thread)}/runs`, { query, signal: over });
  const runs: CasedRun[] = [];
  for (const node of (await json.children(json.root, over)).found) {
    const kwargs = await json.child(node, 'kwargs', over);
    const sent: CasedRun['sent'] = {};
    for (const name of SENT) {
      const part = await json.child(kwargs, name, over);
      if (part !== undefined) sent[name] = json.slice(part);
    }
    const wordsOf = async (name: string): Promise<string> => {
      const value = json.small(await json.child(node, name, over));
      return typeof value === 'string' ? value : '';
    };
    runs.push({ madeAt: await wordsOf('created_at'), assistant: await wordsOf('assistant_id'), sent });
  }
  return runs;
}
