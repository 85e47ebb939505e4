import { toPrintable } from '../../schema/printable-text.ts';
import { BestLines, compareOrder, type Line } from './best-lines.ts';
import type { LogEntry, LogPage, LogQuery } from './schema.ts';

/*
 * Turns the lines of a container's log into entries, and entries into one page. A line is any text, or one that the
 * agent server's logger writes: JSON with `level` and `msg`.
 */

const LEVELS = ['DEBUG', 'INFO', 'WARNING', 'ERROR', 'CRITICAL'] as const;
type Level = (typeof LEVELS)[number];

const LEVEL_WORDS: Readonly<Record<string, Level>> = {
  trace: 'DEBUG',
  debug: 'DEBUG',
  info: 'INFO',
  warn: 'WARNING',
  warning: 'WARNING',
  error: 'ERROR',
  fatal: 'CRITICAL',
  critical: 'CRITICAL',
};

/** A node that no longer has a log answers with a sentence in its place. */
const TIMED = /^\d{4}-\d\d-\d\dT\S+( |$)/;

/**
 * Parses the log of one pod, whose lines have the form `2026-01-01T00:00:00.123456789Z text`, and returns the lines in
 * their order. `times` has how many lines of each time came before, where the text is one piece of several.
 */
export function parseLines(text: string, pod: string, times = new Map<string, number>()): Line[] {
  const lines = text.split('\n').filter((line) => TIMED.test(line));
  const parsedLines = lines.map((line): Line => {
    const space = line.indexOf(' ');
    const timestamp = line.slice(0, space);
    const { level, message } = parseMessage(toPrintable(line.slice(space + 1)));
    const nth = times.get(timestamp) ?? 0;
    times.set(timestamp, nth + 1);
    const order = `${extendTimestamp(timestamp)}/${pod}/${String(nth).padStart(6, '0')}`;
    return { timestamp, level, message, order, pod };
  });
  return parsedLines.toSorted(compareOrder);
}

/** Lines of a piece, which takes two milliseconds to parse. */
const PIECE = 500;

/** Parses the log of one pod as `linesOf` does, piece by piece. */
export function* parseLinePieces(text: string, pod: string): Generator<Line[]> {
  const texts = text.split('\n');
  const times = new Map<string, number>();
  for (let at = 0; at < texts.length; at += PIECE)
    yield parseLines(texts.slice(at, at + PIECE).join('\n'), pod, times);
}

/** Names the source of a stage's lines, which have the same place in the order before and after the pod is gone. */
export const stageId = (stage: string): string => `build/${stage}`;

/** Puts the stage of a build between the time and the text of each line. */
export const addStage = (text: string, stage: string | undefined): string =>
  stage === undefined ? text : text.replaceAll(/^(\S+) /gm, `$1 [${stage}] `);

/** Encodes a place in the log for clients; `orderOf` decodes it. */
export const logCursor = (order: string): string => Buffer.from(order).toString('base64url');
export const decodeLogCursor = (cursor: string): string =>
  Buffer.from(cursor, 'base64url').toString();

/** Adds trailing zeros, which Kubernetes omits from nanoseconds, so that the order of texts is the order of times. */
function extendTimestamp(timestamp: string): string {
  const [seconds = '', fraction = ''] = timestamp.replace(/Z$/, '').split('.');
  return `${seconds}.${fraction.padEnd(9, '0')}`;
}

function parseMessage(message: string): { level: Level; message: string } {
  // Most lines of other programs need no parser, whose failures cost more than its successes.
  if (!message.startsWith('{') || !message.trimEnd().endsWith('}'))
    return { level: 'INFO', message };
  try {
    const { level } = JSON.parse(message) as { level?: unknown };
    return {
      level: (typeof level === 'string' ? LEVEL_WORDS[level.toLowerCase()] : undefined) ?? 'INFO',
      message,
    };
  } catch {
    return { level: 'INFO', message };
  }
}

/** Makes a page that takes the lines which the query wants, after its offset. */
export function createLogPage(query: LogQuery): BestLines {
  const { order = 'asc', limit = 50, offset } = query;
  const after = typeof offset === 'string' ? decodeLogCursor(offset) : undefined;
  const isBehind = (line: Line): boolean =>
    after === undefined || (order === 'asc' ? line.order > after : line.order < after);
  return new BestLines({
    order,
    lines: limit,
    wants: (line) => isBehind(line) && isMatchingLine(line, query),
  });
}

/** Returns a page as it is answered. `leftOut`: pods whose logs were not read. */
export function logPageAnswer(page: BestLines, leftOut = 0): LogPage {
  const last = page.lines.at(-1)?.order;
  return {
    logs: page.lines.map(toLogEntry),
    next_offset: last === undefined ? null : logCursor(last),
    pods_left_out: leftOut,
  };
}

export const toLogEntry = ({ order, timestamp, level, message }: Line): LogEntry => ({
  id: logCursor(order),
  timestamp,
  level,
  message,
});

/** Returns true if a line matches the query. The query's offset, order and limit do not matter here. */
export function isMatchingLine(
  line: Line,
  { level, query, start_time: start, end_time: end, run_id: run }: LogQuery,
): boolean {
  const least = level === null || level === undefined ? 0 : LEVELS.indexOf(level);
  return (
    LEVELS.indexOf(line.level) >= least &&
    (!query || line.message.toLowerCase().includes(query.toLowerCase())) &&
    (!run || line.message.includes(run)) &&
    (!start || Date.parse(line.timestamp) >= Date.parse(start)) &&
    (!end || Date.parse(line.timestamp) < Date.parse(end))
  );
}
