import process from 'node:process';
import { pino, type DestinationStream, type Logger } from 'pino';

export type Log = Logger;

const CREDENTIALS = [
  'authorization',
  'password',
  'secret',
  'secrets',
  'api_key',
  '["x-api-key"]',
  'connection_string',
];
/** Keys of users' data, which never appear in our log lines. */
const CONTENTS = ['value', 'input'];
const CENSOR = '[redacted]';

/** Returns the paths of keys at the top of a line, and one level below. */
const buildRedactPaths = (keys: string[]): string[] =>
  keys.flatMap((key) => (key.startsWith('[') ? [key, `*${key}`] : [key, `*.${key}`]));

type LogOptions = {
  level: string;
  process: string;
  /** Fields of every line, such as the name of the deployment. */
  fields?: Readonly<Record<string, string>> | undefined;
  /** Returns the fields of a line that is written now, such as the ids of the run under way. */
  fieldsNow?: (() => Readonly<Record<string, string>>) | undefined;
  destination?: DestinationStream;
  /** Whether a person reads the lines as they are written. */
  pretty?: boolean | undefined;
  /** Hears each line, besides its destination. */
  also?: ((line: string) => void) | undefined;
};

/** Returns the id of the trace of a run that no other trace has caused. */
export const deriveTraceId = (runId: string): string => runId.replaceAll('-', '').toLowerCase();

/** Adds the id of its trace to a line about a run that names none. */
const addTraceId = (line: Record<string, unknown>): Record<string, unknown> =>
  typeof line['run_id'] === 'string' && line['trace_id'] === undefined
    ? { ...line, trace_id: deriveTraceId(line['run_id']) }
    : line;

/**
 * The root logger: one JSON object a line, ids under fixed snake_case keys, errors under `err`.
 * Messages are constant text; data goes into the object. Secrets are redacted by key here and nowhere else.
 */
export function createLog(options: LogOptions): Log {
  const destination =
    options.destination ?? (options.pretty === true ? createPrettyStream() : createStdoutStream());
  return pino(
    {
      level: options.level,
      base: { process: options.process, ...options.fields },
      timestamp: pino.stdTimeFunctions.isoTime,
      ...(options.fieldsNow && { mixin: options.fieldsNow }),
      formatters: { level: (label) => ({ level: label }), log: addTraceId },
      redact: { paths: buildRedactPaths([...CREDENTIALS, ...CONTENTS]), censor: CENSOR },
    },
    options.also === undefined ? destination : mergeDestinations(destination, options.also),
  );
}

const mergeDestinations = (
  destination: DestinationStream,
  also: (line: string) => void,
): DestinationStream => ({
  write: (line) => {
    destination.write(line);
    also(line);
  },
});

/**
 * Returns a logger for the lines that users' code logs itself, so that it shows its own data; credentials are still
 * redacted.
 */
export const createGraphLog = (log: Log): Log =>
  log.child(
    { source: 'graph' },
    { redact: { paths: buildRedactPaths(CREDENTIALS), censor: CENSOR } },
  );

/**
 * Milliseconds that lines wait for others, unless they fill the buffer. On a busy server, writing each line on its own
 * costs more than making it.
 */
const GATHER = 20;
const FULL = 8192;

function createStdoutStream(): DestinationStream {
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

type PrettyLine = {
  level: string;
  time: string;
  msg?: string;
  process?: string;
  /** The sentence that a person reads in place of the message and its data. */
  says?: string;
  err?: { message?: string; stack?: string };
} & Record<string, unknown>;

const CLOCK = { from: 11, to: 19 };

/** Ids that join a line with those of other servers, which a person at a terminal has no use for. */
const OF_PROGRAMS = ['process', 'trace_id', 'request_id'];
/** Fields that say whose line it is. Users' own code prints many lines, so each has its graph and node alone. */
const OF_SOURCE = ['source', 'stream', 'logger', 'run_id', 'thread_id'];

const FRAME = /^\s+(?:File ".*", line \d+|at .)/;
/** Lines of a frame of Python below its first one: the code, and marks under it. */
const CODE = /^ {4}\s*(?!File "|at )\S/;
const OF_LIBRARY =
  /[/\\](?:site-packages|dist-packages|node_modules)[/\\]|[/\\]lib[/\\]python3\.|<frozen |node:|<anonymous>/;

/**
 * Returns a text without the frames of libraries in its stacks: people look for their own lines. Where no frame is
 * theirs, the first and the last one stay, because one of them has failed.
 */
function hideLibraryFrames(text: string): string {
  const parts: { lines: string[]; isFrame: boolean; isOfLibrary: boolean }[] = [];
  for (const line of text.split('\n')) {
    const last = parts.at(-1);
    const isFrame = FRAME.test(line);
    if (last?.isFrame === true && CODE.test(line)) last.lines.push(line);
    else parts.push({ lines: [line], isFrame, isOfLibrary: isFrame && OF_LIBRARY.test(line) });
  }
  const frames = parts.filter(({ isFrame, lines }) => isFrame && !lines[0]!.includes('node:'));
  const hasOwn = frames.some(({ isOfLibrary }) => !isOfLibrary);
  const shown = hasOwn ? [] : [frames[0], frames.at(-1)];
  const lines: string[] = [];
  let hidden = 0;
  for (const part of [...parts, undefined]) {
    if (part?.isOfLibrary === true && !shown.includes(part)) {
      hidden++;
      continue;
    }
    if (hidden > 0) lines.push(`  ... ${hidden} ${hidden === 1 ? 'frame' : 'frames'} of libraries`);
    hidden = 0;
    lines.push(...(part?.lines ?? []));
  }
  return lines.join('\n');
}

/** Returns the data of a line that a person has a use for. */
function formatData(data: Record<string, unknown>, isError: boolean): string {
  const unread = new Set([
    ...OF_PROGRAMS,
    ...(data['source'] === undefined ? [] : OF_SOURCE),
    // The line of an error says by itself how it ended, and only a later attempt is news.
    ...(isError ? ['status'] : []),
    ...(data['attempt'] === 1 ? ['attempt'] : []),
  ]);
  return Object.entries(data)
    .filter(([name]) => !unread.has(name))
    .map(([name, value]) => ` ${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join('');
}

/** Returns a log line as a person reads it: time, level, the graph and its node, message, then the data. */
export function formatLogLine(text: string): string {
  let line: PrettyLine;
  try {
    line = Object(JSON.parse(text)) as PrettyLine;
  } catch {
    return text;
  }
  if (typeof line.level !== 'string' || typeof line.time !== 'string') return text;
  const { level, time, msg = '', says, err, graph_id, node, ...data } = line;
  const hasStack = level === 'error' || level === 'fatal';
  const fields = says === undefined ? formatData(data, hasStack) : '';
  const place = [graph_id, node].filter((part) => typeof part === 'string').join('/');
  // The logger joins the messages of an error and of its causes by colons.
  const reason = (hasStack ? err?.stack : undefined) ?? err?.message?.replaceAll('.: ', ': ') ?? '';
  // The error comes first, then the data, and the stack last.
  const [first = '', ...rest] = `${says ?? msg}${msg && reason && ': '}${reason}`.split('\n');
  const shown = [`${first}${fields}`, ...rest].join('\n');
  return hideLibraryFrames(
    `${time.slice(CLOCK.from, CLOCK.to)} ${level.padEnd(5)} ${place && `${place}  `}${shown}`,
  );
}

/** Writes lines for a person. A sentence about the configuration is printed once, and not at each reload. */
function createPrettyStream(): DestinationStream {
  const printed = new Set<string>();
  return {
    write: (line) => {
      const { level, says } = JSON.parse(line) as PrettyLine;
      if (says !== undefined && level === 'warn') {
        if (printed.has(says)) return;
        printed.add(says);
      }
      printPretty(line);
    },
  };
}

/** Writes a line of the log for a person. Threads print by the main thread, so all lines keep their order. */
export const printPretty = (line: string): boolean =>
  process.stdout.write(`${formatLogLine(line.trimEnd())}\n`);
