import type { OperatorSettings } from '../../config/platform/operator.ts';
import { resolveMaxReplicas, type Templated } from './replicas.ts';

/**
 * Connections that no pod gets: 3 that Postgres keeps for superusers, 1 for a change of the password, 6 for people and
 * backups.
 */
const RESERVED = 10;
/**
 * Revisions that exist side by side during a switch. Pods that are replaced in turn and still finish their runs are no
 * more than that.
 */
const GENERATIONS = 2;
/** The same where replaced revisions keep work: their pods, of which there are few, count as a third one. */
const KEEPING_GENERATIONS = 3;
/** Connections that an agent server needs: 1 that listens, 2 of its own, 2 of one graph thread. */
const LEAST = 5;
/**
 * Connections that an agent server can use: 1 that listens, 20 of its own, 4 graph threads with 5 each, and some room.
 */
const MOST = 44;
/** The largest `dbMaxConnections`. */
const LIMIT = 10_000;

export type Connections = {
  /** `max_connections` of a managed database that is made today; of an external one, those for the deployment. */
  max: number;
  /** Why the pods don't fit, if they don't. */
  problem?: string;
};

const countPods = (of: Templated, settings: OperatorSettings): number =>
  Math.max(1, resolveMaxReplicas(of, 'api', settings) + resolveMaxReplicas(of, 'queue', settings));

/** Returns the number that the pods need at least, during a switch too, as far as a database takes so many. */
export const countNeededConnections = (of: Templated, settings: OperatorSettings): number =>
  Math.min(LIMIT, countMinConnections(countPods(of, settings)));

const countMinConnections = (pods: number): number => RESERVED + GENERATIONS * pods * LEAST;

/**
 * Returns the connections that a spec asks for. A number that it gives stands; the installation's default grows with
 * the pods, so that each gets as many as it needs.
 */
export function resolveConnections(of: Templated, settings: OperatorSettings): Connections {
  const asked = of.spec.template.resourceSpec?.dbMaxConnections;
  const pods = countPods(of, settings);
  const needed = countMinConnections(pods);
  const max = asked ?? Math.min(LIMIT, Math.max(settings.profile.database.maxConnections, needed));
  if (max >= needed) return { max };
  const problem = `template.resourceSpec.dbMaxConnections: ${max} connections are too few for ${pods} pods, which during a switch of revisions need ${needed}; ask for more connections or fewer replicas.`;
  return { max, problem };
}

/** Returns the connections of one pod, api or queue, of a database that takes `max`. */
export function countConnectionsPerPod(
  of: Templated,
  settings: OperatorSettings,
  { max, keepsWork }: { max: number; keepsWork: boolean },
): number {
  const generations = keepsWork ? KEEPING_GENERATIONS : GENERATIONS;
  const share = Math.floor((max - RESERVED) / (generations * countPods(of, settings)));
  return Math.max(LEAST, Math.min(MOST, share));
}
