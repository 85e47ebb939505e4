import type { AgentDeps } from '../parts/deps.ts';
import { a2aFeature } from '../routes/a2a.ts';
import { agUiFeature } from '../routes/ag-ui.ts';
import { assistantGraphRoutes } from '../routes/assistant-graphs.ts';
import { assistantRoutes } from '../routes/assistants.ts';
import { cronRoutes } from '../routes/crons.ts';
import { eventStreaming } from '../routes/event-streaming.ts';
import type { Feature, FeatureSettings } from '../routes/feature.ts';
import { feedbackRoutes } from '../routes/feedback.ts';
import { mcpFeature } from '../routes/mcp.ts';
import { threadRunRoutes } from '../routes/runs.ts';
import { statelessRunRoutes } from '../routes/stateless-runs.ts';
import { storeRoutes } from '../routes/store.ts';
import { buildThreadStateRoutes } from '../routes/thread-state.ts';
import { buildThreadStreamRoute } from '../routes/thread-stream.ts';
import { threadRoutes } from '../routes/threads.ts';
import { uiRoutes } from '../routes/ui.ts';
import { budgetRoutes } from '../routes/budgets.ts';
import { releaseWaitingThreads } from '../runs/making/release.ts';
import { usageRoutes } from '../routes/usage.ts';
import { removeExpired } from '../parts/sweeps.ts';
import { toError } from '../../errors.ts';

/** Everything that an agent server can serve, in the order in which /docs shows it. A new feature is one more line. */
const FEATURES: readonly Feature[] = [
  {
    isServed: ({ http }) => http.disable_assistants !== true,
    routes: (deps) => [...assistantRoutes(deps), ...assistantGraphRoutes(deps)],
  },
  {
    isServed: ({ http }) => http.disable_threads !== true,
    routes: (deps) => [
      ...threadRoutes(deps),
      ...buildThreadStateRoutes(deps),
      buildThreadStreamRoute(deps),
    ],
  },
  {
    isServed: ({ http }) => http.disable_runs !== true,
    routes: (deps) => [
      ...threadRunRoutes(deps),
      ...statelessRunRoutes(deps),
      ...feedbackRoutes(deps),
      ...usageRoutes(deps),
      ...budgetRoutes(deps),
    ],
  },
  {
    isServed: ({ http, config }) => config.crons && http.disable_runs !== true,
    flag: 'crons',
    routes: cronRoutes,
    work: runCrons,
  },
  eventStreaming,
  mcpFeature,
  a2aFeature,
  agUiFeature,
  { isServed: ({ http }) => http.disable_store !== true, routes: storeRoutes },
  { isServed: ({ http }) => http.disable_ui !== true, routes: uiRoutes },
  // A process that takes no runs leaves their ends to those that do.
  {
    isServed: () => true,
    work: ({ courier, pump }, signal) => void (pump.works && courier.run(signal)),
  },
  {
    isServed: () => true,
    work: (deps, signal) => void (deps.pump.works && removeExpired(deps, signal)),
  },
  {
    isServed: ({ http }) => http.disable_runs !== true,
    work: (deps, signal) => void (deps.pump.works && releaseWaitingThreads(deps, signal)),
  },
  {
    isServed: () => true,
    work: ({ reencryption, pump }, signal) => void reencryption.run(signal, pump.works),
  },
  // Indexing is always on, because graphs search the store whether or not clients can reach it.
  { isServed: () => true, work: (deps, signal) => void embedStoreItems(deps, signal) },
];

/** Fires crons in the processes that execute runs. */
function runCrons({ clock, pump }: AgentDeps, signal: AbortSignal): void {
  if (pump.works) void clock.run(signal);
}

/** Returns the features that a server of these settings has. */
export const listServedFeatures = (settings: FeatureSettings): Feature[] =>
  FEATURES.filter((feature) => feature.isServed(settings));

/** Indexes, while the server serves, items that were stored without an index or for vectors of another length. */
async function embedStoreItems(
  { db, semanticSearch, pump, log }: AgentDeps,
  signal: AbortSignal,
): Promise<void> {
  if (semanticSearch === undefined || db.codec.encrypts) return;
  try {
    const by = await semanticSearch.prepare();
    const items = pump.works ? await semanticSearch.embedUnindexed(signal) : 0;
    log.info({ by, items }, 'store can be searched by meaning');
  } catch (error) {
    log.warn(
      { err: toError(error) },
      'items of the store could not be indexed; the next start tries again',
    );
  }
}
