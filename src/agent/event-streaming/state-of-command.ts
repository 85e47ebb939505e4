import type { Db } from '../db/base/pool.ts';
import { threadHead } from '../db/threads/threads.ts';
import type { GraphHost } from '../graphs/host.ts';
import { threadCall } from '../graphs/thread-call.ts';
import { CommandError } from './answers.ts';
import { stateForm } from '../stream/protocol/state-form.ts';

/* This file answers `state.get`: the state of a thread's graph, or of one within it. */

export type StateCommandDeps = { db: Db; host: Pick<GraphHost, 'call' | 'nodesOf'> };

type Json = Record<string, unknown>;
type State = { values: unknown; checkpoint: { checkpoint_id?: string | null; checkpoint_ns?: string } | null };

export async function readStateOf({ db, host }: StateCommandDeps, threadId: string, { namespace, keys }: Json): Promise<Json> {
  const head = await threadHead(db, threadId);
  if (head === undefined || head.graph_id === null) throw new CommandError('no_such_run', 'The thread has no state: it has had no run.');
  const place = textsIn(namespace, 'namespace') ?? [];
  const wanted = textsIn(keys, 'keys');
  const checkpoint = place.length > 0 ? { checkpoint_ns: place.join('|') } : null;
  const call = await threadCall({ db, host }, { thread_id: threadId, graph_id: head.graph_id });
  const state = JSON.parse(await host.call('state', { ...call, checkpoint })) as State;
  const { checkpoint_id: id, checkpoint_ns: ns } = state.checkpoint ?? {};
  if (place.length > 0 && !id) throw new CommandError('no_such_namespace', `The thread has no state under ${place.join('|')}.`);
  const values = stateForm(state.values) as Json;
  const shown = wanted === undefined ? values : Object.fromEntries(Object.entries(values).filter(([name]) => wanted.includes(name)));
  return { values: shown, ...(id && { checkpoint: { id, ...(ns && { ns }) } }) };
}

function textsIn(value: unknown, name: string): string[] | undefined {
  if (value === undefined || value === null) return undefined;
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value;
  throw new CommandError('invalid_argument', `${name} is a list of texts.`);
}
