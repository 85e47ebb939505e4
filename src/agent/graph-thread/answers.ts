import { Problem, Rejected } from '../../errors.ts';
import type { FromThread } from '../../schema/wire/wall/graphs.ts';
import type { Answer, Args, Call, Operation } from '../../schema/wire/wall/operations.ts';
import type { Embed } from '../gx-json/embed.ts';
import { describeSchemas, describeSubgraphs, drawGraph, type DescribeDeps } from './describe.ts';
import { refusalOf } from './failures.ts';
import { toJson } from './serialise.ts';
import { readHistory, readState, writeState, writeSupersteps, type StateDeps } from './state.ts';

export type AnswerDeps = StateDeps & DescribeDeps & { embed: Embed | undefined };

type Answers = { [K in Operation]: (args: Args<K>, deps: AnswerDeps) => Promise<Answer<K>> };

const ANSWERS: Answers = {
  state: readState,
  history: readHistory,
  update: writeState,
  supersteps: writeSupersteps,
  schemas: describeSchemas,
  graph: drawGraph,
  subgraphs: describeSubgraphs,
  embed: embedTexts,
};

function embedTexts({ texts }: Args<'embed'>, { embed }: AnswerDeps): Promise<number[][]> {
  return embed === undefined ? Promise.reject(new Rejected('gx.json names no store.index.')) : embed(texts);
}

/** Answers a call; `failed` hears what was thrown. Never fails. */
export async function answerCall<K extends Operation>(
  { call_id, operation, args }: Call<K>,
  deps: AnswerDeps,
  failed: (thrown: unknown, status: number) => void,
): Promise<Extract<FromThread, { call_id: number }>> {
  try {
    if (!Object.hasOwn(ANSWERS, operation)) throw new Problem(501, `This graph thread does not know the operation "${operation}".`);
    return { kind: 'result', call_id, json: toJson(await ANSWERS[operation](args, deps)) };
  } catch (thrown) {
    const refusal = refusalOf(thrown);
    failed(thrown, refusal.status);
    return { kind: 'failed', call_id, ...refusal };
  }
}
