import { setTimeout as wait } from 'node:timers/promises';
import { toError, Problem, Unavailable } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { JsonText } from '../../schema/wire/wall/json-text.ts';
import type { Answer, Args } from '../../schema/wire/wall/operations.ts';
import type { Db } from '../db/base/pool.ts';
import type { Signals } from '../db/base/signals.ts';
import {
  keepAnswer,
  callState,
  insertCall,
  removeCall,
  takeCall,
  type CallProblem,
  type CallState,
  type PinnedCall,
} from '../db/threads/pinned-calls.ts';
import { getCurrentContext, runUnderContext } from '../kernel/encryption-context.ts';
import { createId } from '../kernel/ids.ts';
import type { Pinning } from '../kernel/pinning.ts';
import type { GraphHost } from './host.ts';
import { loadThreadCall } from './thread-call.ts';

type OfThread = 'state' | 'history' | 'update';

export type PinnedThread = { thread_id: string; graph_id: string; revision: string | null };

type Deps = {
  db: Db;
  host: GraphHost;
  signals: Signals;
  pinning: Pinning;
  log: Log;
};

/** Milliseconds within which a process of the revision takes a call, unless it is about to end. */
const TAKEN_WITHIN = 1000;
/** Milliseconds between two looks for the answer, in case the signal of it was lost. */
const LOOK = 250;
/** Looks after which a process counts as dead: its session may be replaced meanwhile. */
const DEAD = 8;

export type AnswerOfRevision<T> = { json: JsonText<T>; by: string | undefined };

/**
 * Calls about threads. One that is pinned to another revision is answered by a process of that, whose graph it is: the
 * call goes there through the database, because queue pods take no requests. Where none is there, this process answers.
 */
export class PinnedCalls {
  readonly #deps: Deps;
  /** The calls that wait for an answer. Each function makes one look for it. */
  readonly #waiting = new Map<string, () => void>();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Asks a graph thread of the thread's revision, or of this process. Throws a refusal as a `Problem`. */
  async call<K extends OfThread>(
    thread: PinnedThread,
    operation: K,
    args: Omit<Args<K>, 'thread_id' | 'graph_id'>,
  ): Promise<AnswerOfRevision<Answer<K>>> {
    const { host, pinning } = this.#deps;
    const { thread_id, graph_id, revision } = thread;
    if (revision !== null && pinning.revision !== undefined && revision !== pinning.revision) {
      const json = await this.#ask(revision, { operation, args: { ...args, thread_id, graph_id } });
      if (json !== undefined) return { json, by: revision };
    }
    const call = await loadThreadCall(this.#deps, { thread_id, graph_id });
    return {
      json: await host.call(operation, { ...call, ...args } as Args<K>),
      by: pinning.revision,
    };
  }

  /** Answers a call of another process, if it is for this revision and no other process has taken it. Never throws. */
  async handleCall({ call_id, revision }: { call_id: string; revision: string }): Promise<void> {
    const { db, signals, pinning, log } = this.#deps;
    if (revision !== pinning.revision) return;
    try {
      const call = await takeCall(db, call_id, signals.processId);
      if (call === undefined) return;
      await keepAnswer(db, call_id, await this.#executeCall(call));
      await signals.send({ about: 'answer', call_id }, call.asker);
    } catch (error) {
      log.warn({ err: toError(error) }, 'a call of another revision could not be answered');
    }
  }

  /** The answer to a call of this process may be there. */
  wake(call_id: string): void {
    this.#waiting.get(call_id)?.();
  }

  async #executeCall({
    operation,
    args,
    context,
  }: PinnedCall): Promise<{ answer: string } | { problem: CallProblem }> {
    const { host, log } = this.#deps;
    try {
      // The asker knows no graph of this revision, so it does not know how this one is made.
      const made = await loadThreadCall(
        this.#deps,
        args as { thread_id: string; graph_id: string },
      );
      const call = { ...args, ...made } as Args<OfThread>;
      return {
        answer: await runUnderContext(context, () => host.call(operation as OfThread, call)),
      };
    } catch (thrown) {
      if (thrown instanceof Problem)
        return {
          problem: { status: thrown.status, message: thrown.message, headers: thrown.headers },
        };
      log.error({ err: toError(thrown) }, 'a call of another revision failed');
      return { problem: { status: 500, message: 'The graph could not answer.', headers: {} } };
    }
  }

  /** Asks a process of another revision. Undefined: nobody there has answered. */
  async #ask(
    revision: string,
    { operation, args }: { operation: OfThread; args: object },
  ): Promise<string | undefined> {
    const { db, signals, log } = this.#deps;
    const call_id = createId();
    const call = {
      call_id,
      operation,
      args: args as PinnedCall['args'],
      context: getCurrentContext(),
    };
    try {
      if (!(await insertCall(db, call, { revision, asker: signals.processId }))) return undefined;
      await signals.send({ about: 'call', call_id, revision });
    } catch (error) {
      // A full database, which takes no writes, can still be read.
      log.warn(
        { err: toError(error) },
        'the revision of a thread could not be asked; this one answers',
      );
      return undefined;
    }
    return this.#answerTo(call_id, { isWrite: operation === 'update' });
  }

  /** Waits for the answer. One that may have written is not repeated here. */
  async #answerTo(call_id: string, { isWrite }: { isWrite: boolean }): Promise<string | undefined> {
    const { db } = this.#deps;
    const until = performance.now() + TAKEN_WITHIN;
    let isTaken = false;
    for (let silent = 0; silent < DEAD;) {
      await this.#look(call_id);
      const state = await callState(db, call_id);
      if (state === undefined) break;
      if (state.answer !== undefined || state.problem !== undefined) {
        await removeCall(db, call_id, { unlessTaken: false });
        return requireAnswer(state);
      }
      ({ isTaken } = state);
      if (
        !isTaken &&
        performance.now() > until &&
        (await removeCall(db, call_id, { unlessTaken: true }))
      )
        return undefined;
      silent = isTaken && !state.isAlive ? silent + 1 : 0;
    }
    await removeCall(db, call_id, { unlessTaken: false });
    if (isTaken && isWrite)
      throw new Unavailable(
        'The process that writes the state was lost: read the state before you write again.',
      );
    return undefined;
  }

  async #look(call_id: string): Promise<void> {
    const done = new AbortController();
    this.#waiting.set(call_id, () => done.abort());
    await wait(LOOK, undefined, { signal: done.signal, ref: false }).catch(() => undefined);
    this.#waiting.delete(call_id);
  }
}

function requireAnswer({ answer, problem }: CallState): string {
  if (problem !== undefined)
    throw new Problem(problem.status, problem.message, { headers: problem.headers });
  return answer!;
}
