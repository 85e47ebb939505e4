import { toError, Problem, Unavailable } from '../../errors.ts';
import type { FromThread, ToThread } from '../../schema/wire/wall/graphs.ts';
import type { JsonText } from '../../schema/wire/wall/json-text.ts';
import type { Cipher } from '../encryption/custom.ts';

/** The parts in another language, for which graph threads ask the server. */
export type AnswersAsked = {
  /** Makes texts into vectors, whatever language the embedding is in. */
  embed?: (texts: string[]) => Promise<JsonText<number[][]>>;
  /** Asks the module of `encryption.path` that the server runs. */
  cipher?: Cipher | undefined;
};

type Question = Extract<FromThread, { kind: 'embed' | 'cipher' }>;

/** Returns the answer to a thread's question. Never throws. */
export const answerAsked = (
  question: Question,
  { embed, cipher }: AnswersAsked,
): Promise<ToThread> =>
  question.kind === 'embed' ? answerEmbed(question, embed) : answerCipher(question, cipher);

async function answerEmbed(
  { embed_id, texts }: Extract<Question, { kind: 'embed' }>,
  embed: AnswersAsked['embed'],
): Promise<ToThread> {
  try {
    if (embed === undefined)
      throw new Problem(501, 'This server makes no vectors for graph threads.');
    return { kind: 'embedded', embed_id, json: await embed(texts) };
  } catch (thrown) {
    return { kind: 'not_embedded', embed_id, ...toRefusal(thrown) };
  }
}

async function answerCipher(
  { cipher_id, call }: Extract<Question, { kind: 'cipher' }>,
  cipher: AnswersAsked['cipher'],
): Promise<ToThread> {
  try {
    if (cipher === undefined)
      throw new Problem(501, 'This server encrypts nothing for graph threads.');
    return { kind: 'ciphered', cipher_id, answer: await cipher(call) };
  } catch (thrown) {
    return {
      kind: 'not_ciphered',
      cipher_id,
      ...toRefusal(thrown),
      passes: thrown instanceof Unavailable,
    };
  }
}

const toRefusal = (thrown: unknown): { status: number; message: string } => ({
  status: thrown instanceof Problem ? thrown.status : 500,
  message: toError(thrown).message,
});
