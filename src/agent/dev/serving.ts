import type { AgentConfig } from '../../config/agent.ts';
import { asError, StartError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { startAgentServer } from '../start.ts';
import { chatPage } from './chat/served.ts';
import type { FrontDoor } from './front-door.ts';

type AgentServer = Awaited<ReturnType<typeof startAgentServer>>;
/** `signal` ends a start that is under way; what serves is ended by `stop`. */
type Deps = { config: () => AgentConfig; log: Log; door: FrontDoor; signal: AbortSignal };

/**
 * Keeps a server behind the door. A reload starts the next server beside it and stops the old one once the new one
 * answers, so that code that does not load takes nothing away. Runs of the old server are handed back, and go on in the
 * new one from their last step.
 */
export class Serving {
  readonly #deps: Deps;
  readonly #stopping = new AbortController();
  readonly #signal: AbortSignal;
  #current: AgentServer | undefined;
  #working: Promise<void> = Promise.resolve();
  #asked: string | undefined;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#signal = AbortSignal.any([deps.signal, this.#stopping.signal]);
  }

  async start(): Promise<void> {
    const { config, log, door } = this.#deps;
    const next = await startAgentServer({ config: config(), log, signal: this.#signal, extra: [chatPage] }).catch(inOneLine);
    const old = this.#current;
    this.#current = next;
    door.lead(next.port);
    await old?.stop();
  }

  /** Reloads once at a time; changes in between lead to one more reload. */
  reload(changed: string): void {
    const idle = this.#asked === undefined;
    this.#asked = changed;
    if (idle) this.#working = this.#working.then(() => this.#reload());
  }

  async stop(): Promise<void> {
    this.#asked = '';
    this.#stopping.abort();
    await this.#working;
    await this.#current?.stop();
    this.#current = undefined;
  }

  async #reload(): Promise<void> {
    if (this.#signal.aborted) return;
    const { log } = this.#deps;
    const began = performance.now();
    const changed = this.#asked;
    this.#asked = undefined;
    try {
      await this.start();
      log.info({ changed, milliseconds: Math.round(performance.now() - began) }, 'reloaded');
    } catch (thrown) {
      if (this.#signal.aborted) return;
      const error = asError(thrown);
      if (error instanceof StartError) log.warn({ changed }, `not reloaded, the old graphs go on: ${error.message}`);
      else log.error({ err: error, changed }, 'not reloaded, the old graphs go on');
    }
  }
}

/** Throws the error with its message on one line, because a compiler's message has several. */
function inOneLine(error: unknown): never {
  if (!(error instanceof StartError)) throw error;
  throw new StartError(error.message.replaceAll(/\s+/g, ' '), { cause: error });
}
