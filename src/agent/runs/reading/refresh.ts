import { toError } from '../../../errors.ts';
import type { Log } from '../../../log.ts';
import { parseJsonText } from '../../../schema/wire/wall/json-text.ts';
import type { Db } from '../../db/base/pool.ts';
import { refreshThreadState, loadRunCount } from '../../db/threads/threads.ts';
import type { GraphHost } from '../../graphs/host.ts';
import { runFields, type RunInLog } from '../../kernel/run-fields.ts';
import { loadThreadCall } from '../../graphs/thread-call.ts';

/**
 * Writes down where a thread stands by its last checkpoint, after a run whose graph could not say: its graph thread was
 * ended, or its worker is gone. Searches show it. A failure leaves the record as it was.
 */
export async function refreshThread(
  { db, host, log }: { db: Db; host: GraphHost; log: Log },
  run: RunInLog & { graph_id: string },
): Promise<void> {
  const { thread_id, graph_id } = run;
  try {
    const runs = await loadRunCount(db, thread_id);
    if (runs === undefined) return;
    const state = parseJsonText(
      await host.call('state', await loadThreadCall({ db, host }, { thread_id, graph_id })),
    );
    if (state.checkpoint === null) return;
    const waiting = state.tasks.filter(({ interrupts }) => interrupts.length > 0);
    await refreshThreadState(db, thread_id, {
      values: state.values,
      interrupts: Object.fromEntries(waiting.map(({ id, interrupts }) => [id, interrupts])),
      waiting: state.next.length > 0,
      runs,
    });
  } catch (error) {
    log.warn(
      { err: toError(error), ...runFields(run) },
      'state of a thread could not be read after its run',
    );
  }
}
