import type { OperatorSettings } from '../../config/operator.ts';
import { replicasAllowed, type Templated } from './replicas.ts';

/**
 * Connections that no pod gets: 3 that Postgres keeps for superusers, 1 for a change of the password, 6 for people and
 * backups.
 */
const RESERVED = 10;
/**
 * Revisions that stand side by side during a switch. Pods that are replaced in turn, and still end their runs, count no
 * more than that.
 */
const GENERATIONS = 2;
/** Connections that an agent server needs: 1 that listens, 2 of its own, 2 of one graph thread. */
const LEAST = 5;
/**
 * Connections that an agent server makes use of: 1 that listens, 20 of its own, 4 graph threads with 5 each, with some
 * room.
 */
const MOST = 44;
/** The greatest `dbMaxConnections`. */
const LIMIT = 10_000;

export type Connections = {
  /** `max_connections` of a managed database; of an external one what the deployment may use. */
  max: number;
  /** Connections of one pod, api or queue. */
  perPod: number;
  /** Why the pods don't fit, when they don't. */
  problem?: string;
};

/**
 * Shares the connections of a database among the pods. A number that the spec gives stands; the installation's default
 * grows with the pods, so that each gets what it needs.
 */
export function connectionsOf(of: Templated, settings: Pick<OperatorSettings, 'profile'>): Connections {
  const asked = of.spec.template.resourceSpec?.dbMaxConnections;
  const pods = Math.max(1, replicasAllowed(of, 'api', settings) + replicasAllowed(of, 'queue', settings));
  const needed = RESERVED + GENERATIONS * pods * LEAST;
  const max = asked ?? Math.min(LIMIT, Math.max(settings.profile.database.maxConnections, needed));
  const share = Math.floor((max - RESERVED) / (GENERATIONS * pods));
  const perPod = Math.max(LEAST, Math.min(MOST, share));
  if (share >= LEAST) return { max, perPod };
  const problem = `template.resourceSpec.dbMaxConnections: ${max} connections are too few for ${pods} pods, which during a switch of revisions need ${needed}; ask for more connections or fewer replicas.`;
  return { max, perPod, problem };
}
