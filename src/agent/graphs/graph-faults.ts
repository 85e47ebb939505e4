import type { GraphFailures } from '../../schema/wire/wall/graphs.ts';

/** Why a graph, or all of them (null), is not served as its file says. `serves` tells what callers get meanwhile. */
export type GraphFault = {
  graph_id: string | null;
  error: string;
  serves: 'nothing' | 'its earlier version';
};

/** Lets a server start without the graphs that can't be loaded. */
export type GraphFaults = {
  /**
   * Hears of every graph, and why some can't be loaded, before the server takes a run. Throws a `StartError` where the
   * server must not start without them.
   */
  found(failures: GraphFailures, graphs: string[]): void;
  reported(): GraphFault[];
};
