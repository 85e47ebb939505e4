import path from 'node:path';
import { parseArgs } from 'node:util';
import { StartError } from '../../errors.ts';

export const HELP = `gx dev: the agent server on this machine, with a Postgres of its own, reloading when a file changes

Usage: gx dev [options]

  --config <file>        the graph configuration (default ./gx.json)
  --port <number>        where it answers; 0 is any free port (default 2024, or the next free one)
  --host <address>       on which address (default 127.0.0.1); on others it asks for a key, which it prints
  --database-uri <uri>   use this Postgres instead of the embedded one
  --no-reload            do not watch the files
  --reset                forget the data of earlier starts
  --log-json             one JSON object a line, as in a deployment

Data lies in .gx beside the configuration and survives a restart. Other settings come from the environment, as those of agent-server.
`;

export type DevOptions = {
  config: string;
  /** Undefined means the usual port, or the next one that is free. */
  port: number | undefined;
  host: string;
  databaseUri: string | undefined;
  reload: boolean;
  reset: boolean;
  logJson: boolean;
};

const FLAGS = {
  config: { type: 'string', default: './gx.json' },
  port: { type: 'string' },
  host: { type: 'string', default: '127.0.0.1' },
  'database-uri': { type: 'string' },
  'no-reload': { type: 'boolean', default: false },
  reset: { type: 'boolean', default: false },
  'log-json': { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

const LAST_PORT = 65_535;

/** Returns the options, or nothing when help was asked for. */
export function devOptions(args: string[]): DevOptions | undefined {
  const flags = parsed(args);
  if (flags.help) return undefined;
  const port = flags.port === undefined ? undefined : portOf(flags.port);
  const databaseUri = flags['database-uri'];
  if (flags.reset && databaseUri !== undefined)
    throw new StartError('dev: --reset forgets the data of the embedded Postgres only; it can not be given together with --database-uri.');
  const { host, reset } = flags;
  return { config: path.resolve(flags.config), port, host, databaseUri, reload: !flags['no-reload'], reset, logJson: flags['log-json'] };
}

function portOf(text: string): number {
  const port = Number(text);
  if (text === '' || !Number.isInteger(port) || port < 0 || port > LAST_PORT)
    throw new StartError(`dev: --port must be a whole number from 0 to ${LAST_PORT}.`);
  return port;
}

function parsed(args: string[]): ReturnType<typeof parseArgs<{ options: typeof FLAGS }>>['values'] {
  try {
    return parseArgs({ args, options: FLAGS }).values;
  } catch (error) {
    throw new StartError(`dev: ${(error as Error).message.replace(/\.?$/, '.')} See gx dev --help.`, { cause: error });
  }
}
