import { Writable } from 'node:stream';

type Line = { level: string; time: string; msg?: string; process?: string; err?: { message?: string; stack?: string } } & Record<
  string,
  unknown
>;

const CLOCK = { from: 11, to: 19 };

/** Returns a log line as a person reads it: time, level, message, then the data. */
export function prettyLine(text: string): string {
  let line: Line;
  try {
    line = JSON.parse(text) as Line;
  } catch {
    return text;
  }
  const { level, time, msg = '', err, process: _, ...data } = line;
  const fields = Object.entries(data).map(([name, value]) => ` ${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
  const reason = err === undefined ? '' : ` ${level === 'error' || level === 'fatal' ? (err.stack ?? err.message) : err.message}`;
  return `${time.slice(CLOCK.from, CLOCK.to)} ${level.padEnd(5)} ${msg}${fields.join('')}${reason}`;
}

/** Returns a stream that takes what the log writes, which is whole lines. */
export const prettyStream = (out: NodeJS.WritableStream): Writable =>
  new Writable({
    decodeStrings: false,
    write: (chunk: string | Buffer, _encoding, done) => {
      const lines = chunk.toString().split('\n').filter(Boolean);
      out.write(lines.map((line) => `${prettyLine(line)}\n`).join(''));
      done();
    },
  });
