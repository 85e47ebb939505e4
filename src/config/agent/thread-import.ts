import { parseCommandOptions } from '../../commands.ts';
import { StartError } from '../../errors.ts';
import { readAgentConfig, type AgentConfig } from './agent.ts';
import type { Env } from '../env.ts';

export const IMPORT_THREADS_HELP = `gx-platform import-threads: copies threads from the tables of LangGraph's own Postgres saver

Usage: node src/main.ts import-threads --from <uri> [options]

  --from <uri>    the database with the tables of PyPI langgraph-checkpoint-postgres, which is only read
  --graph <id>    the graph of the threads (default: the one that their checkpoints name)
  --thread <id>   only this thread; may come several times
  --dry-run       says what would be imported, and writes nothing

It writes into DATABASE_URI, and encrypts with GX_AES_KEY if that is set; give it both as the agent server has them.
A thread that is there already stays as it is, so an import that was stopped can be started again.
`;

export type ImportConfig = Pick<AgentConfig, 'database' | 'encryption' | 'logLevel'> & {
  /** The address of the database with the saver's tables. */
  from: string;
  /** Undefined means the graph that the checkpoints of a thread name. */
  graph: string | undefined;
  /** Threads by their ids in these tables; undefined means all. */
  threads: string[] | undefined;
  dryRun: boolean;
};

const OPTIONS = {
  from: { type: 'string' },
  graph: { type: 'string' },
  thread: { type: 'string', multiple: true },
  'dry-run': { type: 'boolean' },
} as const;

/** Reads the options of `import-threads`, and the settings that it shares with the agent server. */
export function importConfig(env: Env, args: string[]): ImportConfig {
  const {
    from,
    graph,
    thread,
    'dry-run': dryRun = false,
  } = parseCommandOptions(args, OPTIONS, { name: 'import-threads' });
  if (from === undefined)
    throw new StartError('import-threads: --from is missing. See import-threads --help.');
  if (!/^postgres(ql)?:\/\/./.test(from))
    throw new StartError('import-threads: --from must begin with postgresql://');
  const { database, encryption, logLevel } = readAgentConfig(env);
  return { from, graph, threads: thread, dryRun, database, encryption, logLevel };
}
