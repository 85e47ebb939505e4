import { format } from 'node:util';
import { createGraphLog, type Log } from '../../log.ts';

/** The methods of the console by the levels of their lines; those that are not here call one of these. */
const LEVELS = { error: 'error', warn: 'warn', info: 'info', log: 'info', debug: 'info' } as const;

const buildNoFields = (): object => ({});

/**
 * Makes lines of our log of those that a run prints with `console`, so that they have its ids, too. Others are printed
 * as they are, unless asked for.
 */
export function serveConsole(
  log: Log,
  console: Console,
  {
    always,
    idsNow = buildNoFields,
    nodeNow = buildNoFields,
  }: {
    /** Whether other lines become lines of our log, too, because a person reads all of them in one form. */
    always: boolean;
    /** Returns the ids of the run under way; there are none while a module loads. */
    idsNow?: () => object;
    /** Returns the node of the graph that is under way. */
    nodeNow?: () => { node?: string };
  },
): void {
  const lines = createGraphLog(log);
  for (const method of Object.keys(LEVELS) as (keyof typeof LEVELS)[]) {
    const print = console[method].bind(console);
    console[method] = (...args: unknown[]) => {
      if (always || Object.keys(idsNow()).length > 0)
        lines[LEVELS[method]](nodeNow(), format(...args));
      else print(...args);
    };
  }
}
