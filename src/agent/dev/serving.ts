import type { AgentConfig } from '../../config/agent/agent.ts';
import { toError, StartError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { GraphFailures } from '../../schema/wire/wall/graphs.ts';
import { startAgentServer } from '../process/start.ts';
import type { GraphFault, GraphFaults } from '../graphs/graph-faults.ts';
import { studioPage } from './studio/served.ts';
import type { FrontDoor } from './front-door.ts';

/** `signal` ends a start that is under way; a running server is ended by `stop`. */
type Deps = { config: () => AgentConfig; log: Log; door: FrontDoor; signal: AbortSignal };

type LoadedProject = { failures: GraphFailures; graphs: string[] };

/**
 * Keeps a server behind the door. A reload starts the next server beside it and stops the old one once the new one
 * answers, so that code that does not load takes nothing away. Runs of the old server are handed back, and go on in the
 * new one from their last step.
 *
 * A graph that can't be loaded is left out, and the others are served. A reload that would leave out a graph that is
 * served does not happen.
 */
export class Serving {
  readonly #deps: Deps;
  readonly #stopping = new AbortController();
  readonly #signal: AbortSignal;
  #current: Awaited<ReturnType<typeof startAgentServer>> | undefined;
  #working: Promise<void> = Promise.resolve();
  #asked: string | undefined;
  #found: LoadedProject = { failures: {}, graphs: [] };
  #served = new Set<string>();
  #faults: GraphFault[] = [];

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#signal = AbortSignal.any([deps.signal, this.#stopping.signal]);
  }

  async start(): Promise<void> {
    const { config, log, door } = this.#deps;
    const faults: GraphFaults = {
      found: (failures, graphs) => this.#checkServable({ failures, graphs }),
      reported: () => this.getFaults(),
    };
    const next = await startAgentServer({
      config: config(),
      log,
      signal: this.#signal,
      extra: [studioPage],
      faults,
    }).catch(throwInOneLine);
    const old = this.#current;
    this.#current = next;
    this.#accept();
    door.lead(next.port);
    await old?.stop();
  }

  getFaults(): GraphFault[] {
    return this.#faults;
  }

  /** Reloads once at a time; changes in between lead to one more reload. */
  runReload(changed: string): void {
    const idle = this.#asked === undefined;
    this.#asked = changed;
    if (idle) this.#working = this.#working.then(() => this.#runReload());
  }

  async stop(): Promise<void> {
    this.#asked = '';
    this.#stopping.abort();
    await this.#working;
    await this.#current?.stop();
    this.#current = undefined;
  }

  /** Throws where the graphs that can be loaded must not replace those that are served. */
  #checkServable(found: LoadedProject): void {
    this.#found = found;
    const failed = Object.keys(found.failures);
    const lost =
      failed.find((graph) => this.#served.has(graph)) ??
      (failed.length === found.graphs.length ? failed[0] : undefined);
    if (lost !== undefined) throw new StartError(found.failures[lost]!);
  }

  #accept(): void {
    const { failures, graphs } = this.#found;
    this.#served = new Set(graphs.filter((graph) => !Object.hasOwn(failures, graph)));
    this.#faults = this.#buildFaults(failures);
    for (const { graph_id, error } of this.#faults)
      this.#deps.log.error({ graph_id }, `served without a graph: ${error}`);
  }

  #buildFaults(failures: GraphFailures): GraphFault[] {
    return Object.entries(failures).map(([graph_id, error]) => ({
      graph_id,
      error,
      serves: this.#served.has(graph_id) ? 'its earlier version' : 'nothing',
    }));
  }

  async #runReload(): Promise<void> {
    if (this.#signal.aborted) return;
    const { log } = this.#deps;
    const began = performance.now();
    const changed = this.#asked;
    this.#asked = undefined;
    this.#found = { failures: {}, graphs: [] };
    log.info(
      { changed, says: `${changed} changed, loading the graphs again` },
      'a file changed, loading the graphs again',
    );
    try {
      await this.start();
      const seconds = Number(((performance.now() - began) / 1000).toFixed(1));
      log.info({ seconds, says: `reloaded in ${seconds} s` }, 'reloaded');
    } catch (thrown) {
      if (this.#signal.aborted) return;
      const error = toError(thrown);
      const failed = this.#buildFaults(this.#found.failures);
      const still = this.#faults.filter(({ serves }) => serves === 'nothing');
      this.#faults =
        failed.length > 0
          ? failed
          : [...still, { graph_id: null, error: error.message, serves: 'its earlier version' }];
      if (error instanceof StartError)
        log.error({ changed }, `not reloaded, the former graphs keep answering: ${error.message}`);
      else log.error({ err: error, changed }, 'not reloaded, the former graphs keep answering');
    }
  }
}

/** Throws the error with its message on one line, because a compiler's message has several. */
function throwInOneLine(error: unknown): never {
  if (!(error instanceof StartError)) throw error;
  throw new StartError(error.message.replaceAll(/\s+/g, ' '), { cause: error });
}
