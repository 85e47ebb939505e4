import { pino, type DestinationStream, type Logger } from 'pino';

export type Log = Logger;

const CREDENTIALS = ['authorization', 'password', 'secret', 'secrets', 'api_key', '["x-api-key"]', 'connection_string'];
/** Keys of users' data, which never appear in our log lines. */
const CONTENTS = ['value', 'input'];
const CENSOR = '[redacted]';

/** Returns the paths of keys at the top of a line, and one level below. */
const pathsOf = (keys: string[]): string[] => keys.flatMap((key) => (key.startsWith('[') ? [key, `*${key}`] : [key, `*.${key}`]));

/** `also` hears each line, besides its destination. */
type LogOptions = { level: string; process: string; destination?: DestinationStream; also?: ((line: string) => void) | undefined };

/**
 * The root logger: one JSON object a line, ids under fixed snake_case keys, errors under `err`.
 * Messages are constant text; data goes into the object. Secrets are redacted by key here and nowhere else.
 */
export function createLog(options: LogOptions): Log {
  const destination = options.destination ?? standardOutput();
  return pino(
    {
      level: options.level,
      base: { process: options.process },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: pathsOf([...CREDENTIALS, ...CONTENTS]), censor: CENSOR },
    },
    options.also === undefined ? destination : both(destination, options.also),
  );
}

const both = (destination: DestinationStream, also: (line: string) => void): DestinationStream => ({
  write: (line) => {
    destination.write(line);
    also(line);
  },
});

/**
 * Returns a logger for the lines that users' code logs itself, so that it shows its own data; credentials are still
 * redacted.
 */
export const forGraphs = (log: Log): Log => log.child({ source: 'graph' }, { redact: { paths: pathsOf(CREDENTIALS), censor: CENSOR } });

/**
 * Milliseconds that lines wait for others, unless they fill the buffer. On a busy server, writing each line on its own
 * costs more than making it.
 */
const GATHER = 20;
const FULL = 8192;

function standardOutput(): DestinationStream {
  const out = pino.destination({ fd: 1, sync: false, minLength: FULL });
  let timer: NodeJS.Timeout | undefined;
  const flush = (): void => {
    timer = undefined;
    if (!(out as { destroyed?: boolean }).destroyed) out.flush();
  };
  // The destination itself writes the waiting lines when the process ends.
  return {
    write: (line) => {
      out.write(line);
      timer ??= setTimeout(flush, GATHER).unref();
    },
  };
}
