import type { AgentConfig } from '../../config/agent.ts';
import { createLog, type Log } from '../../log.ts';
import type { CollectorSettings } from '../../config/tracing.ts';
import { OtlpExporter } from '../../tracing/exporter.ts';
import { versions } from '../kernel/versions.ts';
import { otlpLogs } from './log-line.ts';

/** Characters of the longest line that is sent. */
const LONGEST = 65_536;

/** Sends lines of the log. Losses are reported by `warn`, which may be a line of the same log. */
export class LogExporter extends OtlpExporter<string> {
  constructor(settings: CollectorSettings, warn: (facts: object, message: string) => void) {
    const scope = { name: 'gx-agent-server', version: versions().version };
    super({
      settings,
      type: 'application/json',
      body: (lines) => JSON.stringify(otlpLogs(lines, settings.resource, scope)),
      complain: (problem, { batch, dropped }) => warn({ problem, lines: batch, dropped }, 'lines of the log do not reach their collector'),
    });
  }

  line(line: string): void {
    if (line.length <= LONGEST) this.add([line]);
    else this.counts.dropped += 1;
  }
}

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
