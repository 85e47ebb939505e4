import { Problem, Unavailable } from '../../errors.ts';

/** The questions that a thread has asked another side. */
export class OpenQuestions<Question, Answer> {
  readonly #send: (id: number, question: Question) => void;
  readonly #asked = new Map<number, PromiseWithResolvers<Answer>>();
  #last = 0;

  constructor(send: (id: number, question: Question) => void) {
    this.#send = send;
  }

  ask(question: Question): Promise<Answer> {
    this.#last += 1;
    const asked = Promise.withResolvers<Answer>();
    this.#asked.set(this.#last, asked);
    this.#send(this.#last, question);
    return asked.promise;
  }

  resolve(id: number, answer: Answer): void {
    this.#take(id)?.resolve(answer);
  }

  reject(
    id: number,
    { status, message, passes = false }: { status: number; message: string; passes?: boolean },
  ): void {
    this.#take(id)?.reject(passes ? new Unavailable(message) : new Problem(status, message));
  }

  #take(id: number): PromiseWithResolvers<Answer> | undefined {
    const asked = this.#asked.get(id);
    this.#asked.delete(id);
    return asked;
  }
}
