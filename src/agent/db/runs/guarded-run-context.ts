import { encodePatterns, buildPermitSql, type Patterns } from '../base/permits.ts';
import type { Db } from '../base/pool.ts';
import { buildThreadPinSql } from './revisions.ts';
import { buildChainSql, openRunContexts, type RunContext, type RunContextKey } from './runs.ts';

/** The records that a guarded caller may use for a run. */
export type RunPermits = { assistant: Patterns; thread: Patterns };

/**
 * Returns the values that a guarded caller's run takes from its assistant and its thread; undefined when it may not use
 * the assistant. `refused`: there is a thread that it may not put runs on.
 */
export async function loadGuardedRunContext(
  db: Db,
  { assistantId, threadId }: RunContextKey,
  { assistant, thread }: RunPermits,
): Promise<(RunContext & { thread_runs: number; refused: boolean }) | undefined> {
  const rows = await db.query<RunContext & { thread_runs: number; refused: boolean }>({
    name: 'run_context_guarded',
    text: `select a.assistant_id, a.graph_id, a.version, a.config, a.context, a.metadata, t.config as thread_config, t.metadata as thread_metadata,
        coalesce(t.runs, 0) as thread_runs, ${buildThreadPinSql('t')} as thread_revision, ${buildChainSql('t')} as has_budget_chain, t.thread_id is null and exists (select 1 from gx.thread x where x.thread_id = $2) as refused
      from gx.assistant a left join gx.thread t on t.thread_id = $2 and ${buildPermitSql('t.metadata', '$4')}
      where a.assistant_id = $1 and ${buildPermitSql('a.metadata', '$3')}`,
    values: [assistantId, threadId, encodePatterns(assistant), encodePatterns(thread)],
  });
  return (await openRunContexts(db, rows))[0];
}
