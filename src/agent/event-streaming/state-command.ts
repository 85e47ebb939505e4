import { loadThreadHead } from '../db/threads/threads.ts';
import { CommandError } from './answers.ts';
import type { Db } from '../db/base/pool.ts';
import type { PinnedCalls } from '../graphs/pinned-calls.ts';
import { toStateForm } from '../stream/protocol/state-form.ts';
import type { Json } from '../../schema/json.ts';

/* The answer to `state.get`: the state of a thread's graph, or of one within it. */

export type StateCommandDeps = { db: Db; pinnedCalls: PinnedCalls };

export async function readStateOf(
  { db, pinnedCalls }: StateCommandDeps,
  threadId: string,
  { namespace, keys }: Json,
): Promise<Json> {
  const head = await loadThreadHead(db, threadId);
  if (head === undefined || head.graph_id === null)
    throw new CommandError('no_such_run', 'The thread has no state: it has had no run.');
  const place = readTexts(namespace, 'namespace') ?? [];
  const wanted = readTexts(keys, 'keys');
  const checkpoint = place.length > 0 ? { checkpoint_ns: place.join('|') } : null;
  const { json } = await pinnedCalls.call({ ...head, graph_id: head.graph_id }, 'state', {
    checkpoint,
  });
  const state = JSON.parse(json) as {
    values: unknown;
    checkpoint: { checkpoint_id?: string | null; checkpoint_ns?: string } | null;
  };
  const { checkpoint_id: id, checkpoint_ns: ns } = state.checkpoint ?? {};
  if (place.length > 0 && !id)
    throw new CommandError(
      'no_such_namespace',
      `The thread has no state under ${place.join('|')}.`,
    );
  const values = toStateForm(state.values) as Json;
  const shown =
    wanted === undefined
      ? values
      : Object.fromEntries(Object.entries(values).filter(([name]) => wanted.includes(name)));
  return { values: shown, ...(id && { checkpoint: { id, ...(ns && { ns }) } }) };
}

function readTexts(value: unknown, name: string): string[] | undefined {
  if (value === undefined || value === null) return undefined;
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value;
  throw new CommandError('invalid_argument', `${name} is a list of texts.`);
}
