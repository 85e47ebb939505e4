import { parseJsonText, type JsonText } from '../../schema/wire/wall/json-text.ts';
import { OpenQuestions } from '../kernel/open-questions.ts';

/** The embeddings that a thread has asked another side for. */
export class AskedEmbeddings {
  readonly #asked: OpenQuestions<string[], number[][]>;

  constructor(send: (id: number, texts: string[]) => void) {
    this.#asked = new OpenQuestions(send);
  }

  embed(texts: string[]): Promise<number[][]> {
    return texts.length === 0 ? Promise.resolve([]) : this.#asked.ask(texts);
  }

  resolve(id: number, json: JsonText<number[][]>): void {
    this.#asked.resolve(id, parseJsonText(json));
  }

  reject(id: number, refusal: { status: number; message: string }): void {
    this.#asked.reject(id, refusal);
  }
}
