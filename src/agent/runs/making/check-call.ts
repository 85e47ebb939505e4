import { Invalid, NotFound } from '../../../errors.ts';
import type { Json } from '../../../schema/json.ts';
import type { RunCreate } from '../../../schema/agent/run.ts';
import type { RunContext } from '../../db/runs/runs.ts';
import { checkNodes } from '../../kernel/nodes.ts';
import type { RequestDeps } from './request.ts';

/* Checks of a run against the graph that is to execute it. */

type Executed = Pick<RunContext, 'graph_id' | 'config'>;

/** Refuses a run that the assistant's graph can't carry out. */
export function checkExecutable(
  deps: RequestDeps,
  body: RunCreate,
  {
    isElsewhere,
    protocol,
    ...from
  }: Executed & { isElsewhere: boolean; protocol?: true | undefined },
): void {
  // Another revision executes it by its own graph, which this one may not have.
  if (isElsewhere) return checkSteps(deps, body, from);
  checkCall(deps, body, from);
  if (protocol === true) deps.host.permitEvents(from.graph_id);
}

/** Refuses a call that the assistant's graph can't carry out, or whose end may not be sent to its webhook. */
export function checkCall(deps: RequestDeps, body: RunCreate, from: Executed): void {
  const { graph_id } = from;
  if (!deps.graphs.includes(graph_id))
    throw new NotFound(`Graph "${graph_id}" of this assistant is not part of this revision.`);
  checkNodes(body, deps.host.listNodes(graph_id));
  checkSteps(deps, body, from);
  deps.webhooks.resolveTarget(body.webhook);
}

/** Refuses a run that asks for more steps than the deployment lets one take, be it through its assistant. */
function checkSteps(
  { jobs: { maxRecursionLimit } }: RequestDeps,
  body: RunCreate,
  { config }: Executed,
): void {
  const { recursion_limit: steps }: Json = { ...config, ...body.config };
  if (typeof steps !== 'number' || steps <= maxRecursionLimit) return;
  const msg = `must be at most ${maxRecursionLimit} (GX_MAX_RECURSION_LIMIT)`;
  throw new Invalid([{ loc: ['body', 'config', 'recursion_limit'], msg, type: 'less_than_equal' }]);
}
