import { Invalid } from '../../../errors.ts';
import { loadOfferedRevision } from '../../db/runs/revisions.ts';
import type { NewRun } from '../../db/runs/runs.ts';
import { getPinnedRevision, isPinnedElsewhere } from '../../kernel/pinning.ts';
import { isContinuedRun } from './kwargs.ts';
import type { PermittedRequest, PlannedContext, RequestDeps } from './request.ts';

/** The header by which a caller names the revision that new input is for. */
const REVISION_HEADER = 'x-gx-revision';

/** The words of a request about the revision of its run, and whether another one than this process's executes it. */
export type ResolvedRevision = { place: NewRun['place']; isElsewhere: boolean };

/** Finds which revision executes a run. Refuses one that takes no new input. */
export async function resolveRevision(
  { db, pinning }: RequestDeps,
  { body, call: { headers, caller } }: PermittedRequest,
  { graph_id, thread_revision }: PlannedContext,
): Promise<ResolvedRevision> {
  const asker = caller.guard?.user.identity;
  const name = headers[REVISION_HEADER];
  const thread = { thread: thread_revision, isContinued: isContinuedRun(body) };
  const isElsewhere = isPinnedElsewhere(pinning, thread);
  if (name === undefined)
    return { place: asker === undefined ? undefined : { asker }, isElsewhere };
  if (getPinnedRevision(pinning) === undefined)
    throw buildRefusal('runs are not pinned to revisions here');
  const revision = await loadOfferedRevision(db, { name: String(name), own: pinning.revision });
  if (revision === undefined) throw buildRefusal('must be the serving revision, or the candidate');
  if (revision.graphs?.includes(graph_id) === false)
    throw buildRefusal(`names a revision that does not have the graph ${graph_id}`);
  return {
    place: { revision: revision.name, asker },
    isElsewhere: isElsewhere || revision.name !== pinning.revision,
  };
}

const buildRefusal = (msg: string): Invalid =>
  new Invalid([{ loc: ['header', 'X-Gx-Revision'], msg, type: 'value_error' }]);
