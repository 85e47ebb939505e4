import type { AgentConfig } from '../../config/agent.ts';
import { createLog, type Log } from '../../log.ts';
import { LogExporter } from './log-exporter.ts';

/** The log, and the exporter that sends its lines to a collector, if there is one. */
export type Logging = { log: Log; lines?: LogExporter | undefined };

/** Returns the fields of every line: which deployment and revision it is of. */
export const logFieldsOf = ({ deployment, revision }: Pick<AgentConfig, 'deployment' | 'revision'>): Record<string, string> => ({
  ...(deployment !== undefined && { deployment }),
  ...(revision !== undefined && { revision }),
});

/** Makes the log of an agent server. */
export function agentLog({ logLevel: level, logs, ...of }: Pick<AgentConfig, 'logLevel' | 'logs' | 'deployment' | 'revision'>): Logging {
  const lines: LogExporter | undefined = logs && new LogExporter(logs, (facts, message) => log.warn(facts, message));
  const log: Log = createLog({ level, process: 'agent-server', fields: logFieldsOf(of), also: lines && ((line) => lines.line(line)) });
  return { log, lines };
}
