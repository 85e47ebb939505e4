import type { GraphSource } from '../../schema/wire/wall/graph-start.ts';
import path from 'node:path';
import { parseCommandOptions } from '../../commands.ts';
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

Graphs in Python:
  --python <program>     the interpreter, or the folder of its environment (default GX_PYTHON, the .venv beside gx.json, the active
                         environment, that of the uv project, or python3); the first lines say which one it is
  --debug-port <number>  a debugger may attach at this port of this machine (needs debugpy)
  --allow-blocking       do not warn of code that holds the event loop

Data is kept in .gx next to gx.json and survives a restart. Other settings come from the environment, as those of agent-server.
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
  python: {
    interpreter: string | undefined;
    debugPort: number | undefined;
    allowBlocking: boolean;
  };
};

const FLAGS = {
  config: { type: 'string', default: './gx.json' },
  port: { type: 'string' },
  host: { type: 'string', default: '127.0.0.1' },
  'database-uri': { type: 'string' },
  'no-reload': { type: 'boolean', default: false },
  reset: { type: 'boolean', default: false },
  python: { type: 'string' },
  'debug-port': { type: 'string' },
  'allow-blocking': { type: 'boolean', default: false },
  'log-json': { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

const LAST_PORT = 65_535;

/** Returns the options, or nothing when help was asked for. */
export function parseDevOptions(args: string[]): DevOptions | undefined {
  const flags = parseCommandOptions(args, FLAGS, { name: 'dev', hint: 'See gx dev --help.' });
  if (flags.help) return undefined;
  const databaseUri = flags['database-uri'];
  if (flags.reset && databaseUri !== undefined)
    throw new StartError(
      "dev: --reset forgets the data of the embedded Postgres only; it can't be used together with --database-uri.",
    );
  return {
    config: path.resolve(flags.config),
    port: parsePort(flags, 'port', 0),
    host: flags.host,
    databaseUri,
    reload: !flags['no-reload'],
    reset: flags.reset,
    logJson: flags['log-json'],
    python: {
      interpreter: flags.python,
      debugPort: parsePort(flags, 'debug-port', 1),
      allowBlocking: flags['allow-blocking'],
    },
  };
}

/** Throws where an option is given that only graphs in Python can have, and there is none. */
export function refuseForJavaScript(
  { python }: DevOptions,
  { path: file, graphs }: { path: string; graphs: GraphSource[] },
): void {
  if (graphs.some(({ language }) => language === 'python')) return;
  const given = Object.entries({
    '--python': python.interpreter,
    '--debug-port': python.debugPort,
    '--allow-blocking': python.allowBlocking,
  });
  const [name] = given.find(([, value]) => value !== undefined && value !== false) ?? [];
  if (name !== undefined)
    throw new StartError(`dev: ${name} is for graphs in Python, and ${file} names none.`);
}

type Ports = { port?: string | undefined; 'debug-port'?: string | undefined };

function parsePort(flags: Ports, name: keyof Ports, least: number): number | undefined {
  const text = flags[name];
  if (text === undefined) return undefined;
  const port = Number(text);
  if (text === '' || !Number.isInteger(port) || port < least || port > LAST_PORT)
    throw new StartError(`dev: --${name} must be a whole number from ${least} to ${LAST_PORT}.`);
  return port;
}
