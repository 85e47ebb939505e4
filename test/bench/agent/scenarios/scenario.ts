import type { BenchServer } from '../servers.ts';

/** `beside` is another checkout of this project. */
export type Who = 'gx' | 'beside' | 'js' | 'aegra' | 'aegra-redis';

/**
 * One measurement of one server: how much work fits each, because some answer within milliseconds and others within
 * seconds.
 */
export type Scenario = {
  id: string;
  /** The table's row: what is measured, and in what. */
  what: string;
  unit: 'ms' | 'per s' | 'times' | 'MB';
  /** Calls, runs, streams or threads a round, for each server that takes part. */
  sizes: Partial<Record<Who, number>>;
  measure(server: BenchServer, size: number): Promise<number>;
  /** The goal for this server alone, of the medians. */
  limit?: { atMost: number } | { atLeast: number };
  /** Goals as ratios to the better, or the named, peer. */
  times?: { of: Who[]; atLeast: number }[];
};

/** Another checkout has as much work as this one. */
export const sizeFor = ({ sizes }: Scenario, who: Who): number | undefined => sizes[who === 'beside' ? 'gx' : who];
