import type { ListTasksRequest, ListTasksResponse } from '@a2a-js/sdk';
import { Rejected } from '../../errors.ts';
import { askPermission, type AgentCaller } from '../auth/caller.ts';
import type { Db } from '../db/base/pool.ts';
import { listTasks, type TaskCursor, type TaskWhere } from '../db/runs/tasks.ts';
import { isUuid } from '../kernel/ids.ts';
import type { StateOfTask } from './task-form.ts';
import { toFoundTask, type FoundTask } from './tasks.ts';

const PAGE = 50;

/** The runs whose task is in a state; a state that no task here has matches no run. */
const RUNS_IN: Record<StateOfTask, TaskWhere['state']> = {
  SUBMITTED: { statuses: ['pending'], waits: undefined },
  WORKING: { statuses: ['running'], waits: undefined },
  COMPLETED: { statuses: ['success'], waits: false },
  FAILED: { statuses: ['error'], waits: undefined },
  CANCELED: { statuses: ['interrupted'], waits: undefined },
  INPUT_REQUIRED: { statuses: ['success'], waits: true },
};

/** Returns the condition for the protocol's name of a state; no name means every state. */
function buildStateCondition(state: string | undefined): TaskWhere['state'] {
  const name = state?.replace('TASK_STATE_', '');
  if (name === undefined) return undefined;
  return Object.hasOwn(RUNS_IN, name)
    ? RUNS_IN[name as StateOfTask]
    : { statuses: [], waits: undefined };
}

/** Returns a page of the caller's tasks, last changed first. Throws `Rejected` for a token that no page had. */
export async function loadTaskPage(
  db: Db,
  { contextId, pageSize, pageToken, statusTimestampAfter }: ListTasksRequest,
  {
    caller,
    assistant_id,
    state,
  }: { caller: AgentCaller; assistant_id: string; state: string | undefined },
): Promise<{ page: Omit<ListTasksResponse, 'tasks'>; tasks: FoundTask[] }> {
  const limit = pageSize ?? PAGE;
  const { permits } = await askPermission(caller, 'threads:search', { metadata: {} });
  const after = pageToken === '' ? undefined : decodeCursor(pageToken);
  // No context has another kind of id.
  if (contextId !== '' && !isUuid(contextId))
    return { page: { nextPageToken: '', pageSize: limit, totalSize: 0 }, tasks: [] };
  const where = {
    thread_id: contextId === '' ? undefined : contextId,
    state: buildStateCondition(state),
    changedSince: statusTimestampAfter,
  };
  const { tasks, total } = await listTasks(db, where, {
    assistant_id,
    seen: permits,
    after,
    limit: limit + 1,
  });
  const shown = tasks.slice(0, limit);
  const nextPageToken = tasks.length > limit ? encodeToken(shown.at(-1)!) : '';
  return {
    page: { nextPageToken, pageSize: limit, totalSize: total },
    tasks: shown.map(toFoundTask),
  };
}

const encodeToken = ({ updated_at, run_id }: TaskCursor): string =>
  Buffer.from(`${updated_at} ${run_id}`).toString('base64url');

function decodeCursor(token: string): TaskCursor {
  const [updated_at = '', run_id = '', ...rest] = Buffer.from(token, 'base64url')
    .toString()
    .split(' ');
  if (
    !/^[\d:.T+-]{20,40}$/.test(updated_at) ||
    Number.isNaN(Date.parse(updated_at)) ||
    !isUuid(run_id) ||
    rest.length > 0
  )
    throw new Rejected('pageToken: was not issued by this server.');
  return { updated_at, run_id };
}
