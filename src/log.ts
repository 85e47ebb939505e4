import { pino, type DestinationStream, type Logger } from 'pino';

export type Log = Logger;

const SECRET_PATHS = ['authorization', 'password', 'secret', 'secrets', 'value', 'api_key', '["x-api-key"]', 'connection_string', 'input'];

/**
 * The root logger: one JSON object a line, ids under fixed snake_case keys, errors under `err`.
 * Messages are constant text; data goes into the object. Secrets are redacted by key here and nowhere else.
 */
export function createLog(options: { level: string; process: string; destination?: DestinationStream }): Log {
  return pino(
    {
      level: options.level,
      base: { process: options.process },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: {
        paths: SECRET_PATHS.flatMap((path) => (path.startsWith('[') ? [path, `*${path}`] : [path, `*.${path}`])),
        censor: '[redacted]',
      },
    },
    options.destination ?? standardOutput(),
  );
}

/**
 * Lines wait this many milliseconds for others, unless they fill the bytes, because on a busy server a write for each
 * costs more than making them.
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
  // What is still waiting when the process ends is written by the destination itself.
  return {
    write: (line) => {
      out.write(line);
      timer ??= setTimeout(flush, GATHER).unref();
    },
  };
}
