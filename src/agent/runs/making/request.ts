import type { JobSettings } from '../../../config/agent/agent.ts';
import type { IncomingHttpHeaders } from 'node:http';
import type { Json } from '../../../schema/json.ts';
import type { RunCreate } from '../../../schema/agent/run.ts';
import type { AgentCall } from '../../auth/caller.ts';
import type { RunBudgets } from '../../budgets/budgets.ts';
import type { BatchedStatements } from '../../db/batched-statements.ts';
import type { Database } from '../../db/base/pool.ts';
import type { RunPermits } from '../../db/runs/guarded-run-context.ts';
import type { RunContext } from '../../db/runs/runs.ts';
import type { TaskOfRun } from '../../db/webhooks/push-configs.ts';
import type { GraphHost } from '../../graphs/host.ts';
import type { Pinning } from '../../kernel/pinning.ts';
import type { RequestKey } from '../../kernel/request-key.ts';
import type { StrictAnswer } from '../../kernel/strict-resume.ts';
import type { Following } from '../../stream/bus.ts';
import type { Webhooks } from '../../webhooks/webhooks.ts';

/** The parts that a request for a run is checked with, and turned into a row. */
export type RequestDeps = {
  db: Database;
  batched: BatchedStatements;
  graphs: string[];
  pinning: Pinning;
  host: GraphHost;
  jobs: JobSettings;
  webhooks: Webhooks;
  bounds: { budgets: RunBudgets };
  requests: {
    /** Returns the headers of a request that become configurable values of its runs. */
    pickConfigurable: (headers: IncomingHttpHeaders) => Json;
  };
};

/** The facts that a run takes from its request. `configurable`: the origin's additions to the run's own. */
export type RequestFacts = Omit<AgentCall, 'signal'> & { configurable?: Json };

/** A request for a run, by whichever protocol it came. */
export type RunRequest = {
  body: RunCreate;
  /** Undefined means a thread of its own. */
  threadId: string | undefined;
  call: RequestFacts;
  /** That of the request, where it is carried out once. */
  key?: RequestKey | undefined;
};

/**
 * A request that its caller may make: the body is as the caller's handlers left it. Without permits, the caller is not
 * guarded.
 */
export type PermittedRequest = RunRequest & {
  runId: string;
  /** The id of the run's thread, whether it is there or has to be made. */
  ownThreadId: string;
  assistantId: string;
  permits: RunPermits | undefined;
};

/** The facts that a run takes from its assistant and its thread. */
export type PlannedContext = RunContext & { thread_runs: number };

/** The same, as they are read beside other things. */
export type AskedContext = Promise<PlannedContext | undefined>;

export type RunOptions = {
  /** Follows the run from its first event on; read it with the `Readers`. */
  follow?: Following | undefined;
  /** Set when the run publishes protocol events. */
  protocol?: true;
  /** The questions that the run's command answers, if they are open when it begins; otherwise it brings new input. */
  answers?: string[] | undefined;
  /** The state in which the thread takes the run, where its command does not say it. */
  answering?: StrictAnswer | undefined;
  /** Set when a thread of the run's own stays if the run waits for an answer. */
  keepsWaiting?: true;
  /** Metadata of a thread of the run's own. */
  threadMetadata?: Json;
  /** Whom the task tells that the run begins, or which task it goes on with. */
  task?: TaskOfRun | undefined;
  /** The facts of assistant and thread, where the caller has asked for them already. */
  context?: AskedContext | undefined;
};
