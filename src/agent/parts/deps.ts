import type { IncomingHttpHeaders } from 'node:http';
import type { JobSettings } from '../../config/agent/agent.ts';
import type { Log } from '../../log.ts';
import type { Json } from '../../schema/json.ts';
import type { Tracing } from '../../tracing/spans.ts';
import type { SigningKeys } from '../auth/signing-keys.ts';
import type { BatchedStatements } from '../db/batched-statements.ts';
import type { Database } from '../db/base/pool.ts';
import type { InsertRuns } from '../db/runs/run-inserts.ts';
import type { Signals } from '../db/base/signals.ts';
import type { GraphFault } from '../graphs/graph-faults.ts';
import type { TypedSchemas } from '../graph-types/typed-schemas.ts';
import type { Expiry } from '../gx-json/expiry.ts';
import type { SemanticSearch } from '../gx-json/semantic-search.ts';
import type { Pinning } from '../kernel/pinning.ts';
import type { Pump } from '../queue/pump.ts';
import type { Tickets } from '../queue/tickets.ts';
import type { CronClock } from '../crons/clock.ts';
import type { Callers } from '../auth/callers.ts';
import type { Reencryption } from '../db/encryption/reencryption.ts';
import type { EndedRuns } from '../runs/executing/ended-runs.ts';
import type { Executor } from '../runs/executing/executor.ts';
import type { BoundDeps } from '../runs/executing/bounded-run.ts';
import type { UsageLedger } from '../runs/executing/usage-ledger.ts';
import type { Keeper } from '../runs/executing/keeper.ts';
import type { QueuedRuns } from '../runs/making/queued-runs.ts';
import type { AskedPlace } from '../runs/making/feedback.ts';
import type { Readers } from '../runs/reading/readers.ts';
import type { StoreLog } from '../stream/valkey/log.ts';
import type { GraphHost } from '../graphs/host.ts';
import type { PinnedCalls } from '../graphs/pinned-calls.ts';
import type { Bundles } from '../ui/main.ts';
import type { Courier } from '../webhooks/courier.ts';
import type { Webhooks } from '../webhooks/webhooks.ts';
import type { WorkReports } from '../queue/work-reports.ts';

/**
 * The parts of one server process. Routes take the fields that they use (`Pick<AgentDeps, ...>`); the folders below
 * them never see this type.
 */
export type AgentDeps = {
  db: Database;
  batched: BatchedStatements;
  insertRuns: InsertRuns;
  tickets: Tickets;
  signals: Signals;
  readers: Readers;
  host: GraphHost;
  typedSchemas: TypedSchemas;
  bundles: Bundles;
  executor: Executor;
  endedRuns: EndedRuns;
  pump: Pump;
  keeper: Keeper;
  clock: CronClock;
  /** The graphs of this revision. */
  graphs: string[];
  /** The revision of this process, and how runs keep to theirs. */
  pinning: Pinning;
  pinnedCalls: PinnedCalls;
  graphFaults: () => GraphFault[];
  /** How items of the store are searched by meaning; undefined when gx.json asks for none. */
  semanticSearch: SemanticSearch | undefined;
  jobs: JobSettings;
  expiry: Expiry;
  /** Records the calls of models; undefined where the usage of models is not measured. */
  ledger: UsageLedger | undefined;
  /** The budgets of runs, and where the calls of those that have some are recorded. */
  bounds: BoundDeps;
  /** Days after which calls of models are deleted. */
  keepUsageDays: number;
  /** Counts the streams that each caller has open, and the runs that it starts. */
  callers: Callers;
  /** Tells the platform of the work there is; undefined where nobody asks. */
  reports: WorkReports | undefined;
  queued: QueuedRuns;
  webhooks: Webhooks;
  /** Encrypts again the values that earlier keys have sealed. */
  reencryption: Reencryption;
  courier: Courier;
  /** Count the events of streams; `store` is there where they go through a key-value store. */
  streamed: {
    publisher: { skipped: number };
    store: StoreLog | undefined;
  };
  /** Sign the state that clients carry from one request to the next. */
  signing: SigningKeys;
  requests: {
    /** Returns the address under which the client finds this server, without a slash at its end. */
    address: (request: AskedPlace) => string;
    /** Returns the headers of a request that become configurable values of its runs. */
    pickConfigurable: (headers: IncomingHttpHeaders) => Json;
    /** The path before all others of this server, without a slash at its end. */
    below: string;
  };
  /** Makes spans, where a collector takes them. */
  tracing: Tracing | undefined;
  log: Log;
  /** Count the lines of the log and the spans that arrived at a collector, and those given up, where some are sent. */
  shipped: { lines: Shipped | undefined; spans: Shipped | undefined };
};

type Shipped = { counts: { exported: number; dropped: number } };
