import type { Thread } from '../../../schema/agent/thread.ts';
import { PLAIN } from '../../encryption/codec.ts';
import type { RequestKey } from '../../kernel/request-key.ts';
import { copyCheckpoints } from './checkpoint-upkeep.ts';
import { keepRequestKey } from '../base/idempotency-keys.ts';
import { encodePatterns, buildPermitSql, type Patterns } from '../base/permits.ts';
import type { Database, Db } from '../base/pool.ts';
import { runErrorPlace } from '../fields/run-fields.ts';
import { sealNamedField, sealField } from '../fields/sealed-fields.ts';
import {
  buildThreadInterruptsPlace,
  LONG_TEXT,
  sealStateColumns,
  buildWholeStateSql,
} from '../fields/thread-values.ts';
import { ALL_OF_THREAD, openThreads } from '../fields/thread-fields.ts';

/**
 * Makes a copy with its own id, all checkpoints and the given labels besides. It rests as the thread does, and lives as
 * long from now on. Returns undefined when there is no such thread, or it may not be seen. Throws `Conflict` when the
 * request's key is kept already.
 */
export function copyThread(
  db: Database,
  threadId: string,
  {
    copyId,
    labels,
    seen,
    key,
  }: { copyId: string; labels: object; seen: Patterns; key?: RequestKey | undefined },
): Promise<Thread | undefined> {
  return db.transaction(async (tx) => {
    const copies = await tx.query<Thread>({
      text: `insert into gx.thread as t (thread_id, metadata, config, "values", long_values, long_values_at, status, interrupts, error, ttl, revision, kept)
        select $2, s.metadata || $3, s.config, s."values", s.long_text, case when s.long_text is not null then now() end,
          s.status, s.interrupts, s.error, s.ttl, s.revision, s.kept
        from (select t.*, ${LONG_TEXT} as long_text from gx.thread t where t.thread_id = $1) s
        where ${buildPermitSql('s.metadata', '$4')} returning ${ALL_OF_THREAD}`,
      values: [
        threadId,
        copyId,
        await sealNamedField(tx, 'thread.metadata', labels),
        encodePatterns(seen),
      ],
    });
    // The encrypted values are still those of the other thread.
    const [copied] = await openThreads(
      tx,
      copies.map((row) => ({ ...row, thread_id: threadId })),
    );
    if (copied === undefined) return undefined;
    if (key !== undefined) await keepRequestKey(tx, key, [copyId]);
    if (tx.codec !== PLAIN) await sealCopy(tx, copyId, copied);
    await copyCheckpoints(tx, threadId, copyId);
    return { ...copied, thread_id: copyId };
  });
}

/** Writes the state of a copy, its questions and the error of its last run, as its own. */
async function sealCopy(
  tx: Db,
  copyId: string,
  { values, interrupts, error }: Thread,
): Promise<void> {
  const { values: short, long } = await sealStateColumns(tx, copyId, values);
  const sealed = [
    await sealField(tx, buildThreadInterruptsPlace(copyId), interrupts),
    long,
    await sealField(tx, runErrorPlace(copyId), error),
  ];
  await tx.query({
    text: `update gx.thread set "values" = coalesce($2, "values"), interrupts = $3, error = $5, state_updated_at = now(), ${buildWholeStateSql('$4')} where thread_id = $1`,
    values: [copyId, short, ...sealed],
  });
}
