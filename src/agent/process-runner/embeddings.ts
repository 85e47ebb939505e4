import type { Language } from '../../schema/agent/code-place.ts';
import type { FromThread, ToThread } from '../../schema/wire/wall/graphs.ts';
import type { JsonText } from '../../schema/wire/wall/json-text.ts';
import type { FromRunner, ToRunner } from '../../schema/wire/wall/runner.ts';
import { AskedEmbeddings } from '../gx-json/asked-embeddings.ts';

type Deps = { language: Language | undefined; send: (message: ToRunner) => void; tell: (message: FromThread) => void };
type CallAnswer = Extract<FromRunner, { call_id: number }>;
type ServerAnswer = Extract<ToThread, { embed_id: number }>;

/** Makes texts into vectors for the store: in the runner where the embedding is in Python, else at the server. */
export class RunnerEmbeddings {
  readonly #isHere: boolean;
  readonly #asked: AskedEmbeddings;

  constructor({ language, send, tell }: Deps) {
    this.#isHere = language === 'python';
    this.#asked = new AskedEmbeddings((id, texts) => {
      // The server counts its own calls from one upwards.
      if (this.#isHere) send({ kind: 'call', call_id: -id, operation: 'embed', args: { texts } });
      else tell({ kind: 'embed', embed_id: id, texts });
    });
  }

  embed(texts: string[]): Promise<number[][]> {
    return this.#asked.embed(texts);
  }

  /** Takes the runner's answer to a call. Returns false for a call of the server. */
  heard(answer: CallAnswer): boolean {
    if (answer.call_id > 0) return false;
    if (answer.kind === 'result') this.#asked.answered(-answer.call_id, answer.json as JsonText<number[][]>);
    else this.#asked.refused(-answer.call_id, answer);
    return true;
  }

  heardOfServer(answer: ServerAnswer): void {
    if (answer.kind === 'embedded') this.#asked.answered(answer.embed_id, answer.json);
    else this.#asked.refused(answer.embed_id, answer);
  }
}
