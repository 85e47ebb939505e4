import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { asError, Unavailable } from '../../errors.ts';
import { isFault } from '../../http/error-body.ts';
import type { Log } from '../../log.ts';
import { Exchanges, type AnswerHere, type AskedHere } from './exchanges.ts';
import type { OwnCall } from './fetch.ts';
import type { ExchangeMessage } from './messages.ts';
import { exchangeRefusal } from './refusal.ts';

/** Answers a request that the user's code makes by itself. */
export type AnswerCall = (asked: Pick<AskedHere<unknown>, 'head' | 'body' | 'signal'>) => Promise<AnswerHere>;

/** Answers requests that threads make to the server that they belong to. */
export class ThreadCalls {
  readonly #log: Log;
  #answer: AnswerCall = () => Promise.reject(new Unavailable('The server is starting.'));

  constructor(log: Log) {
    this.#log = log;
  }

  /** From now on, requests are answered so. */
  serve(answer: AnswerCall): void {
    this.#answer = answer;
  }

  /** Returns the port through which a new thread asks. */
  connect(): MessagePort {
    const { port1: near, port2: far } = new MessageChannel();
    const exchanges = new Exchanges<never, OwnCall>({
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port has no origin
      send: (message) => near.postMessage(message),
      answer: (asked) => this.#answer(asked),
      refusal: (thrown) => {
        if (isFault(thrown)) this.#log.error({ err: asError(thrown) }, 'a request of a thread to its server failed');
        return exchangeRefusal(thrown);
      },
      nextId: () => 0,
    });
    near.on('message', (message: ExchangeMessage<OwnCall>) => exchanges.hear(message));
    near.once('close', () => exchanges.failAll(() => new Unavailable('The thread has ended.')));
    near.unref();
    return far;
  }
}
