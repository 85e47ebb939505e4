/** A line of a log. */
export type LogLine = Readonly<Record<string, unknown>>;

/** Returns the lines of a log among all that a process has printed. */
export const linesOf = (output: string): LogLine[] =>
  output
    .split('\n')
    .filter((line) => line.startsWith('{') && line.endsWith('}'))
    .map((line) => JSON.parse(line) as LogLine);
