import { Writable } from 'node:stream';
import { createLog, type Log } from '../../src/log.ts';

export const silentLog = (): Log => createLog({ level: 'silent', process: 'test' });

/** A log whose lines a test can read. */
export function recordedLog(level = 'debug'): { log: Log; lines: Record<string, unknown>[] } {
  const lines: Record<string, unknown>[] = [];
  const destination = new Writable({
    write(chunk: Buffer, _, done) {
      lines.push(
        ...chunk
          .toString()
          .split('\n')
          .filter(Boolean)
          .map((line) => JSON.parse(line) as Record<string, unknown>),
      );
      done();
    },
  });
  return { log: createLog({ level, process: 'test', destination }), lines };
}
