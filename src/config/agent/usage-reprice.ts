import { parseCommandOptions } from '../../commands.ts';
import { StartError } from '../../errors.ts';
import { readAgentConfig, type AgentConfig } from './agent.ts';
import type { Env } from '../env.ts';

export const REPRICE_HELP = `gx-platform reprice-usage: prices recorded calls of models again, by the prices of today

Usage: node src/main.ts reprice-usage --since <day> [options]

  --since <day>   the first day, in UTC, such as 2026-11-01
  --write         writes the prices; without it, the command only says how they would change

It reads DATABASE_URI and the file of GX_CONFIG, as the agent server does. Prices that a provider has reported stay as
they are. Sums of runs and of days follow; those of days whose calls are deleted stay as they are.
`;

export type RepriceConfig = {
  database: AgentConfig['database'];
  logLevel: AgentConfig['logLevel'];
  configPath: string;
  sections: AgentConfig['sections'];
  since: Date;
  writes: boolean;
};

const OPTIONS = { since: { type: 'string' }, write: { type: 'boolean' } } as const;

/** Reads the options of `reprice-usage`, and the settings that it shares with the agent server. */
export function repriceConfig(env: Env, args: string[]): RepriceConfig {
  const { since, write = false } = parseCommandOptions(args, OPTIONS, { name: 'reprice-usage' });
  if (since === undefined)
    throw new StartError('reprice-usage: --since is missing. See reprice-usage --help.');
  const day = new Date(`${since}T00:00:00Z`);
  if (!/^\d{4}-\d\d-\d\d$/.test(since) || Number.isNaN(day.getTime()))
    throw new StartError(
      `reprice-usage: --since must be a day such as 2026-11-01, not "${since}".`,
    );
  const { database, logLevel, configPath, sections } = readAgentConfig(env);
  return { database, logLevel, configPath, sections, since: day, writes: write };
}
