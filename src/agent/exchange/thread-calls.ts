import { toError, Unavailable } from '../../errors.ts';
import { isFault } from '../../http/routes/error-body.ts';
import type { Log } from '../../log.ts';
import type { ExchangeMessage, OwnCall } from '../../schema/wire/wall/exchange.ts';
import { Exchanges, type AnswerHere, type AskedHere } from './exchanges.ts';
import { toExchangeRefusal } from './refusal.ts';

/** Answers a request that the user's code makes by itself. */
export type AnswerCall = (asked: AskedHere<unknown>) => Promise<AnswerHere>;

/** Answers requests that threads make to the server that they belong to. */
export class ThreadCalls {
  readonly #log: Log;
  #answer: AnswerCall = () => Promise.reject(new Unavailable('The server is starting.'));

  constructor(log: Log) {
    this.#log = log;
  }

  serve(answer: AnswerCall): void {
    this.#answer = answer;
  }

  /** Returns the server's side of the requests of a new thread, to which `send` takes messages. */
  connect(send: (message: ExchangeMessage<never>) => void): Exchanges<never, OwnCall> {
    return new Exchanges<never, OwnCall>({
      send,
      answer: (asked) => this.#answer(asked),
      refusal: (thrown) => {
        if (isFault(thrown))
          this.#log.error({ err: toError(thrown) }, 'a request of a thread to its server failed');
        return toExchangeRefusal(thrown);
      },
      nextId: () => 0,
    });
  }
}
