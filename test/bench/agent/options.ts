import { parseArgs } from 'node:util';

export type BenchOptions = {
  /** Rounds of every row; undefined leaves it to the rows. */
  rounds: number | undefined;
  /** The share of each scenario's work that is done. */
  scale: number;
  /** Undefined: all. */
  isAsked: ((id: string) => boolean) | undefined;
  against: string[];
  /** The folder of another checkout. */
  beside: string | undefined;
  /** The number of runs that each server of the table executes at a time. */
  slots: number;
  /** This project's servers of the rows are two processes: one answers, one executes. */
  apart: boolean;
  /** The graphs of this project's servers are in Python. */
  python: boolean;
  full: boolean;
  help: boolean;
};

export const HELP = `The agent server beside others that speak the same interface: make bench, or node test/bench/agent/main.ts [options] [name ...]

  --quick            one round with a fifth of the work: a first impression
  --full             also the searches in 1,000,000 threads, and bad targets of webhooks
  --python           graphs in Python on this server, in the rows that have a goal for them, and what a pod of them needs;
                     peers: python (PyPI langgraph-api, in memory) and aegra
  --only a,b         only these: rows (wait-1, wait-50, start, burst, burst-at-rest, long-thread, stream-1, stream-50, events-first,
                     events-whole, events-one-mode, events-50, ag-ui-first, ag-ui-50, state, search), or parts (memory, growing-thread, growing-python,
                     killed-python, stopped-python, round-trips, subscriptions, guarded, keyed, traced, mcp, a2a, a2a-streams, ag-ui,
                     searches, searches-million, webhooks, python-pod, guarded-python, pods, floors)
  name ...           only what has this name or begins with it: ag-ui stands for the part and the rows ag-ui-first and ag-ui-50
  --against a,b      only these peers: js, aegra, aegra-redis, python, encrypted (this server with a key); "none" for this server alone
  --beside folder    also another checkout of this project, with its dependencies installed: before and after a change, as pairs in turns;
                     no peers unless --against names them
  --rounds n         rounds, of which the median counts (3; 10 of burst-at-rest, whose worst counts)
  --slots n          runs that each server of the rows executes at a time (10, the default of all of them)
  --apart            rows of this server with a process that answers and one that executes, so that every run waits in the queue
  --help             this text

Servers take turns in each round. The table goes to the standard output, what happens meanwhile to the standard error. A server that
fails in a row is named there with its reason, the others go on, and the exit code is 1.
`;

const peersOf = (python: boolean): string => (python ? 'python,aegra' : 'js,aegra,aegra-redis');

/** Returns whether a row or part is one of those that were named, or begins with a name; undefined where none was. */
const chooseAsked = (only: string[], names: string[]): BenchOptions['isAsked'] =>
  only.length + names.length === 0
    ? undefined
    : (id) => only.includes(id) || names.some((name) => id === name || id.startsWith(`${name}-`));

/** Throws an `Error` that names a wrong option. */
export function optionsOf(args: string[]): BenchOptions {
  const flag = { type: 'boolean', default: false } as const;
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      quick: flag,
      full: flag,
      help: flag,
      apart: flag,
      python: flag,
      only: { type: 'string' },
      against: { type: 'string' },
      beside: { type: 'string' },
      rounds: { type: 'string' },
      slots: { type: 'string' },
    },
  });
  return {
    rounds: values.rounds === undefined ? (values.quick ? 1 : undefined) : Number(values.rounds),
    scale: values.quick ? 0.2 : 1,
    isAsked: chooseAsked(values.only?.split(',') ?? [], positionals),
    against: (
      values.against ?? (values.beside === undefined ? peersOf(values.python) : 'none')
    ).split(','),
    beside: values.beside,
    slots: Number(values.slots ?? 10),
    apart: values.apart,
    python: values.python,
    full: values.full,
    help: values.help,
  };
}
