import { Problem, StartError } from '../../errors.ts';
import type { Language } from '../../schema/agent/code-place.ts';
import { chooseRefusalName } from '../../schema/agent/run.ts';
import type { GraphFailures } from '../../schema/wire/wall/graphs.ts';
import type { JsonText } from '../../schema/wire/wall/json-text.ts';
import type { Answer, Args, Operation } from '../../schema/wire/wall/operations.ts';
import type { RunSpec } from '../../schema/wire/wall/run-in-thread.ts';
import type { AnswerCall } from '../exchange/thread-calls.ts';
import type { RunInLog } from '../kernel/run-fields.ts';
import type { LanguageHost } from './language-host.ts';
import type { RunListener } from './thread.ts';

/** The parts of a server that run its graphs: the host of one language, or those of several. */
export type GraphHost = { [K in keyof LanguageHost]: LanguageHost[K] };

export type PythonGraphs = {
  graphs: string[];
  host: LanguageHost | { fault: string };
  /** Returns why the interpreter can run no graph; undefined where the fault is another one. */
  faultOf(): Promise<string | undefined>;
};

type Hosts = {
  /** Undefined where gx.json names no graph of JavaScript. */
  javascript: LanguageHost | undefined;
  python: PythonGraphs;
  /** Whether the other graphs are served when Python can't be started. */
  partial: boolean;
  /** The language whose runners embed texts. */
  embeds: Language;
};

const NOBODY = 'There is no graph in this language that could answer.';

/** The hosts of a server with graphs in Python. Each run and call goes to the host of its graph's language. */
export class HostByLanguage implements GraphHost {
  readonly #javascript: LanguageHost | undefined;
  readonly #python: LanguageHost | undefined;
  readonly #given: PythonGraphs;
  readonly #pythonGraphs: ReadonlySet<string>;
  readonly #partial: boolean;
  readonly #embeds: Language;
  /** Why no graph in Python is served. */
  #fault: string | undefined;

  constructor({ javascript, python, partial, embeds }: Hosts) {
    this.#javascript = javascript;
    this.#given = python;
    this.#python = 'fault' in python.host ? undefined : python.host;
    this.#pythonGraphs = new Set(python.graphs);
    this.#partial = partial;
    this.#embeds = embeds;
  }

  async open(): Promise<GraphFailures> {
    const [javascript, python] = await Promise.all([this.#javascript?.open(), this.#openPython()]);
    return { ...javascript, ...python };
  }

  listNodes(graphId: string): string[] | undefined {
    if (this.#isPython(graphId) && this.#fault !== undefined) throw new Problem(500, this.#fault);
    return this.#getHost(graphId)?.listNodes(graphId);
  }

  permitEvents(graphId: string): void {
    this.#getHost(graphId)?.permitEvents(graphId);
  }

  get well(): boolean {
    return this.#usable.every(({ well }) => well);
  }

  async run(spec: RunSpec, listener: RunListener): Promise<void> {
    const host = this.#getHost(spec.graph_id);
    if (host !== undefined) return host.run(spec, listener);
    const error = { error: chooseRefusalName(500), message: this.#fault ?? NOBODY };
    const outcome = { status: 'error', waiting: false, error } as const;
    // A run ends after it was given.
    setImmediate(() => listener.done(outcome));
  }

  abort(runId: string, how: { goesOn: boolean }): void {
    for (const host of this.#usable) host.abort(runId, how);
  }

  drain(runId: string): void {
    for (const host of this.#usable) host.drain(runId);
  }

  startEvents(runId: string): void {
    for (const host of this.#usable) host.startEvents(runId);
  }

  async kill(run: RunInLog): Promise<void> {
    await Promise.all(this.#usable.map((host) => host.kill(run)));
  }

  async call<K extends Operation>(operation: K, args: Args<K>): Promise<JsonText<Answer<K>>> {
    const host =
      'graph_id' in args ? this.#getHost(args.graph_id) : this.#getLanguageHost(this.#embeds);
    if (host !== undefined) return host.call(operation, args);
    throw new Problem(500, this.#fault ?? NOBODY);
  }

  serve(answer: AnswerCall): void {
    for (const host of this.#usable) host.serve(answer);
  }

  async close(): Promise<void> {
    await Promise.all([this.#javascript?.close(), this.#python?.close()]);
  }

  get #usable(): LanguageHost[] {
    return [this.#javascript, this.#fault === undefined ? this.#python : undefined].filter(
      (host) => host !== undefined,
    );
  }

  #isPython(graphId: string): boolean {
    return this.#pythonGraphs.has(graphId);
  }

  /** Returns the host of a graph; undefined where its language is not served. Any host refuses an unknown one. */
  #getHost(graphId: string): LanguageHost | undefined {
    if (this.#isPython(graphId)) return this.#getLanguageHost('python');
    return this.#javascript ?? this.#getLanguageHost('python');
  }

  #getLanguageHost(language: Language): LanguageHost | undefined {
    if (language === 'javascript') return this.#javascript;
    return this.#fault === undefined ? this.#python : undefined;
  }

  async #openPython(): Promise<GraphFailures> {
    const { graphs, host, faultOf } = this.#given;
    const opening = 'fault' in host ? Promise.reject(new StartError(host.fault)) : host.open();
    try {
      return await opening;
    } catch (thrown) {
      if (!(thrown instanceof StartError)) throw thrown;
      const sentence = (await faultOf()) ?? thrown.message;
      if (!this.#partial) throw new StartError(sentence, { cause: thrown });
      this.#fault = sentence;
      return Object.fromEntries(graphs.map((graphId) => [graphId, sentence]));
    }
  }
}
