import { Problem } from '../../errors.ts';
import { parsed, type JsonText } from '../../schema/wire/wall/json-text.ts';

type Send = (id: number, texts: string[]) => void;

/** The embeddings that a thread has asked another side for. */
export class AskedEmbeddings {
  readonly #send: Send;
  readonly #asked = new Map<number, PromiseWithResolvers<number[][]>>();
  #last = 0;

  constructor(send: Send) {
    this.#send = send;
  }

  embed(texts: string[]): Promise<number[][]> {
    if (texts.length === 0) return Promise.resolve([]);
    this.#last += 1;
    const asked = Promise.withResolvers<number[][]>();
    this.#asked.set(this.#last, asked);
    this.#send(this.#last, texts);
    return asked.promise;
  }

  answered(id: number, json: JsonText<number[][]>): void {
    this.#taken(id)?.resolve(parsed(json));
  }

  refused(id: number, { status, message }: { status: number; message: string }): void {
    this.#taken(id)?.reject(new Problem(status, message));
  }

  #taken(id: number): PromiseWithResolvers<number[][]> | undefined {
    const asked = this.#asked.get(id);
    this.#asked.delete(id);
    return asked;
  }
}
