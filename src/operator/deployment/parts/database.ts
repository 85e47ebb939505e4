import { isReplacing } from '../../../schema/platform/backup/replacement.ts';
import { getDatabaseEngine } from '../../database/engines.ts';
import { pickStatusFields } from '../../reports/status-inputs.ts';
import { isRestoreUndecided } from '../../backup/restore-plan.ts';
import type { DatabaseView } from '../../database/database.ts';
import type { DeploymentFacts, Part } from '../part.ts';

/** A database that sleeps with its deployment is woken for a backup, and while its data is being replaced. */
const buildDatabaseView = <F extends DeploymentFacts>(facts: F): F & DatabaseView => ({
  ...facts,
  isUndecided: isRestoreUndecided(facts.restore),
  isAsleep:
    facts.isAsleep && facts.backup?.needsDatabase !== true && !isReplacing(facts.deployment),
});

export const database: Part = {
  desired: (facts) =>
    getDatabaseEngine(facts.deployment.spec).desired(
      facts.deployment,
      facts.settings,
      buildDatabaseView(facts),
    ),
  prepare: buildPrepare(false),
  whileHeld: buildPrepare(true),
  async step(deps, facts, signal) {
    const step = await getDatabaseEngine(facts.deployment.spec).step(deps, facts.deployment, {
      view: buildDatabaseView(facts),
      signal,
    });
    return step === undefined ? {} : { statements: [step] };
  },
  report(facts) {
    const { deployment, secret } = facts;
    const { status, ...report } = getDatabaseEngine(deployment.spec).report(deployment, {
      ...facts,
      view: buildDatabaseView(facts),
    });
    // A Secret that is gone or broken stays in the status as the one that pods were started with.
    const named =
      secret !== undefined && 'secret' in secret
        ? {
            databaseSecret: secret.secret,
            ...(secret.version !== undefined && { databaseSecretVersion: secret.version }),
          }
        : pickStatusFields(deployment, ['databaseSecret', 'databaseSecretVersion']);
    return { ...report, status: { ...status, ...named } };
  },
};

function buildPrepare(isHeld: boolean): NonNullable<Part['prepare']> {
  return (deps, facts, signal) =>
    getDatabaseEngine(facts.deployment.spec).prepare(deps, facts.deployment, {
      view: buildDatabaseView(facts),
      isHeld,
      signal,
      now: facts.now,
    });
}
