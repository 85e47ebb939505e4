import type { Place } from '../../encryption/codec.ts';
import type { EncryptionContext } from '../../kernel/encryption-context.ts';
import type { Db } from '../base/pool.ts';
import { formatProcessSession, formatRevisionSession } from '../base/signals.ts';
import type { Json } from '../../../schema/json.ts';

/* Calls about threads that are pinned to another revision, on their way to a process of it and back. */

export type PinnedCall = {
  call_id: string;
  operation: string;
  args: Json;
  context: EncryptionContext | undefined;
};

/** Why a call failed, as its asker is to hear it. */
export type CallProblem = { status: number; message: string; headers: Record<string, string> };

/** A call is no state, whose keys a module may choose from: it holds one, deeper. */
const buildCallPlace = (call_id: string): Place => ({
  kind: 'thread.values',
  of: call_id,
  field: 'call',
});

/** Minutes after which a call is forgotten whose asker has ended. */
const FORGOTTEN = 10;

const HERE = 'select 1 from pg_stat_activity s where s.datname = current_database() and';

/** Makes a call if a process of the revision is there. Returns whether it did. */
export async function insertCall(
  db: Db,
  { call_id, operation, args, context }: PinnedCall,
  to: { revision: string; asker: string },
): Promise<boolean> {
  const rows = await db.query({
    name: 'call_insert',
    text: `with old as (delete from gx.call where made_at < now() - interval '${FORGOTTEN} minutes')
      insert into gx.call (call_id, revision, asker, operation, args, context) select $1::uuid, $2, $3, $4, $5, $6
      where exists (${HERE} s.application_name like $7) returning call_id`,
    values: [
      call_id,
      to.revision,
      to.asker,
      operation,
      await db.codec.seal(buildCallPlace(call_id), JSON.stringify(args)),
      context === undefined ? null : JSON.stringify(context),
      formatRevisionSession(to.revision),
    ],
  });
  return rows.length > 0;
}

/** Takes a call, which one process does. Undefined: another one has taken it, or its asker has withdrawn it. */
export async function takeCall(
  db: Db,
  call_id: string,
  worker: string,
): Promise<(PinnedCall & { asker: string }) | undefined> {
  const [row] = await db.query<{
    operation: string;
    args: string;
    context: string | null;
    asker: string;
  }>({
    name: 'call_take',
    text: 'update gx.call set taken_by = $2 where call_id = $1 and taken_by is null returning operation, args, context, asker',
    values: [call_id, worker],
  });
  if (row === undefined) return undefined;
  const { operation, asker } = row;
  const args = JSON.parse(await db.codec.openText(buildCallPlace(call_id), row.args)) as Json;
  return {
    call_id,
    operation,
    asker,
    args,
    context: row.context === null ? undefined : (JSON.parse(row.context) as EncryptionContext),
  };
}

/** Keeps the answer, which is JSON text, or why there is none. */
export async function keepAnswer(
  db: Db,
  call_id: string,
  given: { answer: string } | { problem: CallProblem },
): Promise<void> {
  const sealJson = (json: string): Promise<string> => db.codec.seal(buildCallPlace(call_id), json);
  await db.query({
    name: 'call_answer',
    text: 'update gx.call set answer = $2, problem = $3 where call_id = $1',
    values: [
      call_id,
      'answer' in given ? await sealJson(given.answer) : null,
      'problem' in given ? await sealJson(JSON.stringify(given.problem)) : null,
    ],
  });
}

/** How far a call is. `isAlive`: the process that has taken it is there. */
export type CallState = {
  answer?: string;
  problem?: CallProblem;
  isTaken: boolean;
  isAlive: boolean;
};

/** Looks how far a call is. Undefined: it is not there any more. */
export async function callState(db: Db, call_id: string): Promise<CallState | undefined> {
  const [row] = await db.query<{
    answer: string | null;
    problem: string | null;
    taken: boolean;
    alive: boolean;
  }>({
    name: 'call_state',
    text: `select answer, problem, taken_by is not null as taken, exists (${HERE} s.application_name like $2 || taken_by || ' %') as alive
      from gx.call where call_id = $1`,
    values: [call_id, formatProcessSession('')],
  });
  if (row === undefined) return undefined;
  const openJson = (stored: string): Promise<string> =>
    db.codec.openText(buildCallPlace(call_id), stored);
  return {
    isTaken: row.taken,
    isAlive: row.alive,
    ...(row.answer !== null && { answer: await openJson(row.answer) }),
    ...(row.problem !== null && {
      problem: JSON.parse(await openJson(row.problem)) as CallProblem,
    }),
  };
}

/** Removes a call. With `unlessTaken` it does so only if no process has taken it, and returns whether it did. */
export async function removeCall(
  db: Db,
  call_id: string,
  { unlessTaken }: { unlessTaken: boolean },
): Promise<boolean> {
  const rows = await db.query({
    name: 'call_remove',
    text: 'delete from gx.call where call_id = $1 and not ($2 and taken_by is not null) returning call_id',
    values: [call_id, unlessTaken],
  });
  return rows.length > 0;
}
