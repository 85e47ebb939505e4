/** Levels of lines, the least urgent first. */
export const LOG_LEVELS = ['DEBUG', 'INFO', 'WARNING', 'ERROR', 'CRITICAL'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** A line of a log. `isGap` stands for lines that the server left out. */
export type ShownLine = { at: string; level: LogLevel; text: string; isGap?: true };

/** The lines that pass: of a level or above, with a text in them. */
export type LineFilter = { level: LogLevel; text: string };

/** Lines that are kept. The oldest go first. */
const MOST = 100_000;
/** They go in lots, because each lot moves all others. */
const LOT = 5000;

/** Letters of a line that are drawn. A file that is downloaded has all of them. */
export const DRAWN = 4000;

// oxlint-disable-next-line no-control-regex -- terminals' colours begin with this letter
const COLOURS = /\u001B\[[0-9;]*[A-Za-z]/g;

/** Returns a text without the codes by which terminals colour it. */
export const stripColours = (text: string): string =>
  text.includes('\u001B') ? text.replaceAll(COLOURS, '') : text;

/** Fields of a line that stand before it already. */
const SHOWN_BEFORE = ['level', 'time', 'msg'];

/**
 * Returns the message of a line that our programs wrote as JSON, and its other fields as `name=value`, for people. Any
 * other line is its own message.
 */
export function readEntry(text: string): { message: string; fields: string } {
  const other = { message: text, fields: '' };
  if (!text.startsWith('{') || text.length > DRAWN) return other;
  try {
    const { msg, ...rest } = JSON.parse(text) as Record<string, unknown>;
    if (typeof msg !== 'string') return other;
    const { err } = rest as { err?: { type?: string; message?: unknown } | null };
    const cause =
      typeof err?.message === 'string' ? `: ${err.type ?? 'Error'}: ${err.message}` : '';
    const fields = Object.entries(rest)
      .filter(([name]) => !SHOWN_BEFORE.includes(name))
      .map(
        ([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
      );
    return { message: `${msg}${cause}`, fields: fields.join(' ') };
  } catch {
    return other;
  }
}

/** Returns a predicate of a filter. A gap passes each of them. */
export function buildLineFilter({ level, text }: LineFilter): (line: ShownLine) => boolean {
  const least = LOG_LEVELS.indexOf(level);
  const part = text.toLowerCase();
  return (line) =>
    line.isGap === true ||
    (LOG_LEVELS.indexOf(line.level) >= least &&
      (part === '' || line.text.toLowerCase().includes(part)));
}

/** Holds the newest lines of a log, and those of them that pass a filter. Adding one looks at no other. */
export class LogLines {
  #lines: ShownLine[] = [];
  #passing: ShownLine[] = [];
  #passes = buildLineFilter({ level: 'DEBUG', text: '' });
  /** How many lines went because there were too many. */
  dropped = 0;

  get all(): readonly ShownLine[] {
    return this.#lines;
  }

  get passing(): readonly ShownLine[] {
    return this.#passing;
  }

  add(lines: readonly ShownLine[]): void {
    for (const line of lines) {
      this.#lines.push(line);
      if (this.#passes(line)) this.#passing.push(line);
    }
    while (this.#lines.length > MOST) this.#drop();
  }

  filter(filter: LineFilter): void {
    this.#passes = buildLineFilter(filter);
    this.#passing = this.#lines.filter(this.#passes);
  }

  #drop(): void {
    const gone = new Set(this.#lines.slice(0, LOT));
    this.#lines = this.#lines.slice(LOT);
    const first = this.#passing.findIndex((line) => !gone.has(line));
    this.#passing = first < 0 ? [] : this.#passing.slice(first);
    this.dropped += LOT;
  }
}
