import { DATABASE_READY } from '../../../schema/conditions.ts';
import { URI_KEY } from '../../../schema/database-spec.ts';
import { connectionsAsked } from '../../family/connections.ts';
import { isTrue } from '../../kernel/conditions.ts';
import { addressIn } from '../address.ts';
import type { DatabaseEngine } from '../database.ts';
import { readiness } from '../ready.ts';
import { externalSecret } from './secret.ts';
import { externalStatement } from './statement.ts';

/**
 * Seconds after which a Secret that names no database is read again. Nothing wakes the deployment when it is repaired.
 */
const SECRET_POLL = 10;

/** A database that somebody else runs, named by a Secret. The operator neither makes nor removes any of its objects. */
export const external: DatabaseEngine = {
  address: (deployment) => addressIn(deployment, deployment.spec.database?.external?.key ?? URI_KEY),
  takesConnections: (deployment) => isTrue(deployment, DATABASE_READY),
  answer: ({ settings }, deployment) => ({
    databaseReady: isTrue(deployment, DATABASE_READY),
    databaseSince: undefined,
    connections: connectionsAsked(deployment, settings).max,
  }),
  runner: () => undefined,
  desired: () => [],
  prepare: async (deps, deployment, pass) => ({ secret: await externalSecret(deps, deployment, pass) }),
  step: () => Promise.resolve(undefined),
  report: (_deployment, facts) => readiness(externalStatement(facts), SECRET_POLL),
  isStopped: () => true,
  // Only the number of connections has an effect.
  withoutEffect: ['dbCpu', 'dbCpuLimit', 'dbMemoryMb', 'dbMemoryLimitMb', 'dbStorageGi'],
  hold: () => Promise.resolve(),
  release: () => Promise.resolve([]),
};
