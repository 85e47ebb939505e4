import { format } from 'node:util';
import { forGraphs, type Log } from '../../log.ts';
import { nodeOf } from './graph-log.ts';

/** The methods of the console by the levels of their lines; those that are not here call one of these. */
const LEVELS = { error: 'error', warn: 'warn', info: 'info', log: 'info', debug: 'info' } as const;

type Method = keyof typeof LEVELS;

/**
 * Makes lines of our log of those that a run prints with `console`, so that they have its ids, too. `idsNow` returns
 * them; where there are none, as while a module loads, the line is printed as it is.
 */
export function serveConsole(log: Log, idsNow: () => object, console: Pick<Console, Method>): void {
  const lines = forGraphs(log);
  for (const method of Object.keys(LEVELS) as Method[]) {
    const print = console[method].bind(console);
    console[method] = (...args: unknown[]) => {
      if (Object.keys(idsNow()).length > 0) lines[LEVELS[method]](nodeOf(), format(...args));
      else print(...args);
    };
  }
}
