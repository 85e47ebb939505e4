import { parseArgs } from 'node:util';

export type BenchOptions = {
  rounds: number;
  /** Share of each scenario's work. */
  scale: number;
  only: string[] | undefined;
  against: string[];
  full: boolean;
  help: boolean;
};

export const HELP = `The agent server beside others that speak the same interface: make bench, or node test/bench/agent/main.ts [options]

  --quick            one round with a fifth of the work: a first impression
  --full             also the searches in 1,000,000 threads
  --only a,b         only these: rows (wait-1, wait-50, start, burst, long-thread, growing-thread, stream-1, stream-50, state, search),
                     or parts (memory, round-trips, searches, searches-million, floors)
  --against a,b      only these peers: js, aegra, aegra-redis; "none" for this server alone
  --rounds n         rounds, of which the median counts (3)
  --help             this text

Servers take turns in each round. The table goes to the standard output, what happens meanwhile to the standard error.
`;

/** Throws an `Error` that names a wrong option. */
export function optionsOf(args: string[]): BenchOptions {
  const flag = { type: 'boolean', default: false } as const;
  const { values } = parseArgs({
    args,
    options: { quick: flag, full: flag, help: flag, only: { type: 'string' }, against: { type: 'string' }, rounds: { type: 'string' } },
  });
  return {
    rounds: Number(values.rounds ?? (values.quick ? 1 : 3)),
    scale: values.quick ? 0.2 : 1,
    only: values.only?.split(','),
    against: (values.against ?? 'js,aegra,aegra-redis').split(','),
    full: values.full,
    help: values.help,
  };
}
