import type { BenchServer } from '../servers.ts';

/** `beside` is another checkout of this project. */
export type Who = 'gx' | 'beside' | 'encrypted' | 'js' | 'aegra' | 'aegra-redis' | 'python';

/**
 * One measurement of one server. It says how much work suits each server, because some answer within milliseconds and
 * others within seconds.
 */
export type Scenario = {
  id: string;
  /** The row of the table: what is measured, and in which unit. */
  what: string;
  unit: 'ms' | 'per s' | 'times' | 'MB';
  /** The number of calls, runs, streams or threads in a round, for each server that takes part. */
  sizes: Partial<Record<Who, number>>;
  measure(server: BenchServer, size: number): Promise<number>;
  /** Rounds, when the caller of the bench names no number. */
  rounds?: number;
  /** The goal for this server alone, judged by medians. */
  limit?: { atMost: number } | { atLeast: number };
  /** The goal for this server's worst round. */
  worst?: { atLeast: number };
  /** Goals as ratios to the best peer, or to the named one. */
  times?: { of: Who[]; atLeast: number }[];
};

/** Says whether a contender is this server in another form, which does the same work. */
export const isOwn = (who: Who): boolean => who === 'beside' || who === 'encrypted';

/** Another form of this server gets as much work as this one. */
export const sizeFor = ({ sizes }: Scenario, who: Who): number | undefined =>
  sizes[isOwn(who) ? 'gx' : who];
