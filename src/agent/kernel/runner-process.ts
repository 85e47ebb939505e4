import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Duplex, Readable } from 'node:stream';
import type { TSchema } from 'typebox';
import { readUserCodeEnv } from '../../config/env.ts';
import type { Log } from '../../log.ts';
import type { RunnerCommand } from '../../schema/wire/wall/graph-start.ts';
import { FrameReader, toFrame, decodeMessageFrame } from '../../schema/wire/wall/frames.ts';

type Messages = { to: TSchema; from: TSchema };

type Hearing<From> = { messages: Messages; hear: (message: From) => void; log: Log };

/** The form of messages without attachments, which all are that are sent before the runner is heard. */
const NO_ATTACHMENTS: TSchema = {};

/**
 * A runner's process. Its file descriptor 3 is a socket of its own, which ends with either side. All that it sends and
 * prints waits until somebody hears it.
 */
export class RunnerProcess<To, From> {
  #messages: Messages | undefined;
  readonly #child: ChildProcess;
  readonly #socket: Duplex;
  readonly #end: (sentence: string) => void;
  #reason: string | undefined;
  /** Settles with a sentence once nothing more is heard of the runner. */
  readonly ended: Promise<string>;

  constructor(runner: RunnerCommand) {
    const [program = '', ...args] = runner.command;
    const env = { ...readUserCodeEnv(), ...runner.variables };
    this.#child = spawn(program, args, {
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
      cwd: runner.folder,
      env,
    });
    this.#socket = this.#child.stdio[3] as Duplex;
    const { promise, resolve } = Promise.withResolvers<string>();
    this.ended = promise;
    this.#child.once('error', (error) => resolve(`The runner can't be started: ${error.message}`));
    // A runner that ends while it is written to tells the same by its exit.
    this.#socket.on('error', () => undefined);
    this.#end = resolve;
    void this.#waitForExit().then(resolve);
  }

  /** Hears the runner from now on, and all that it has sent and printed so far. */
  listen({ messages, hear, log }: Hearing<From>): void {
    this.#messages = messages;
    this.#read(messages, hear);
    for (const name of ['stdout', 'stderr'] as const)
      createInterface(this.#child[name] as Readable).on('line', (line) =>
        log.info({ source: 'graph', stream: name }, line),
      );
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  send(message: To): void {
    if (!this.#socket.writable) return;
    // Messages of one turn of the event loop go in one write.
    if (this.#socket.writableCorked === 0) {
      this.#socket.cork();
      setImmediate(() => this.#socket.uncork());
    }
    this.#socket.write(toFrame(this.#messages?.to ?? NO_ATTACHMENTS, message));
  }

  /** Ends the process. `ended` gives the reason if there is one, else how the process ended. */
  kill(reason?: string): void {
    this.#reason ??= reason;
    this.#child.kill('SIGKILL');
  }

  #read(messages: Messages, hear: Hearing<From>['hear']): void {
    const frames = new FrameReader();
    this.#socket.on('data', (piece: Buffer) => {
      try {
        for (const frame of frames.push(piece))
          hear(decodeMessageFrame(messages.from, frame) as From);
      } catch (error) {
        this.#end(`The runner sent an invalid message: ${(error as Error).message}`);
        this.kill();
      }
    });
  }

  /** Settles when the process has ended and all that it sent is read. */
  async #waitForExit(): Promise<string> {
    const [code, signal] = (await once(this.#child, 'close')) as [
      number | null,
      NodeJS.Signals | null,
    ];
    return (
      this.#reason ??
      `The runner ended ${signal === null ? `with the code ${code}` : `by ${signal}`}.`
    );
  }
}
