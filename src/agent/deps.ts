import type { IncomingHttpHeaders } from 'node:http';
import type { JobSettings } from '../config/agent.ts';
import type { Log } from '../log.ts';
import type { BatchedStatements } from './db/batched-statements.ts';
import type { Database } from './db/pool.ts';
import type { Signals } from './db/signals.ts';
import type { GraphHost } from './threads/host.ts';
import type { SemanticSearch } from './gx-json/semantic-search.ts';
import type { Pump } from './queue/pump.ts';
import type { Tickets } from './queue/tickets.ts';
import type { Executor } from './runs/execute.ts';
import type { Bus } from './stream/bus.ts';
import type { EventLog } from './stream/log.ts';

/** What one server process is made of; each file takes the part it needs. */
export type AgentDeps = {
  db: Database;
  batched: BatchedStatements;
  tickets: Tickets;
  signals: Signals;
  bus: Bus;
  eventLog: EventLog;
  host: GraphHost;
  executor: Executor;
  pump: Pump;
  /** The graphs of this revision. */
  graphs: string[];
  /** How items of the store are searched by meaning; undefined when gx.json asks for none. */
  semanticSearch: SemanticSearch | undefined;
  jobs: JobSettings;
  requests: {
    /** Whether a header, by its lower-case name, becomes a configurable value of the runs that the request makes. */
    passes: (header: string) => boolean;
    /** The address under which the client finds this server, without a slash at its end. */
    address: (headers: IncomingHttpHeaders) => string;
  };
  log: Log;
};
