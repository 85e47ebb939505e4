import { startAgent, type AgentProcess } from './agent-server.ts';
import { freshDatabase, type TestDatabase } from './postgres.ts';

/**
 * A process that answers requests and one that executes runs, as the pods of a deployment, on a database of their own.
 */
export type AgentPair = {
  database: TestDatabase;
  api: AgentProcess;
  queue: AgentProcess;
  stop(): Promise<void>;
};

export async function startPair(env: Record<string, string>, config?: string): Promise<AgentPair> {
  const database = await freshDatabase();
  const api = await startAgent({
    database: database.uri,
    ...(config && { config }),
    env: { ...env, N_JOBS_PER_WORKER: '0' },
  });
  const queue = await startAgent({
    database: database.uri,
    ...(config && { config }),
    env: { ...env, N_JOBS_PER_WORKER: '5' },
  });
  const stop = async (): Promise<void> => {
    await api.kill();
    await queue.kill();
    await database.drop();
  };
  return { database, api, queue, stop };
}
