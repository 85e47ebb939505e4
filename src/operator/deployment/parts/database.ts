import { isReplacing } from '../../../schema/platform/replacement.ts';
import { databaseOf } from '../../database/engines.ts';
import { keptStatus } from '../../reports/status-inputs.ts';
import { isRestoreUndecided } from '../../backup/restore-plan.ts';
import type { DatabaseView } from '../../database/database.ts';
import type { Facts, Part } from '../part.ts';

/** A database that sleeps with its deployment is woken for a backup, and while its data is being replaced. */
const viewOf = <F extends Facts>(facts: F): F & DatabaseView => ({
  ...facts,
  isUndecided: isRestoreUndecided(facts.restore),
  isAsleep: facts.isAsleep && facts.backup?.needsDatabase !== true && !isReplacing(facts.deployment),
});

/** The database of a deployment, by the engine that it asks for. */
export const database: Part = {
  desired: (facts) => databaseOf(facts.deployment.spec).desired(facts.deployment, facts.settings, viewOf(facts)),
  prepare: preparedBy(false),
  whileHeld: preparedBy(true),
  async step(deps, facts, signal) {
    const step = await databaseOf(facts.deployment.spec).step(deps, facts.deployment, { view: viewOf(facts), signal });
    return step === undefined ? {} : { statements: [step] };
  },
  report(facts) {
    const { deployment, secret } = facts;
    const { status, ...report } = databaseOf(deployment.spec).report(deployment, { ...facts, view: viewOf(facts) });
    // A Secret that is gone or broken stays in the status as the one that pods were started with.
    const named =
      secret !== undefined && 'secret' in secret
        ? { databaseSecret: secret.secret, ...(secret.version !== undefined && { databaseSecretVersion: secret.version }) }
        : keptStatus(deployment, ['databaseSecret', 'databaseSecretVersion']);
    return { ...report, status: { ...status, ...named } };
  },
};

function preparedBy(isHeld: boolean): NonNullable<Part['prepare']> {
  return (deps, facts, signal) =>
    databaseOf(facts.deployment.spec).prepare(deps, facts.deployment, { view: viewOf(facts), isHeld, signal, now: facts.now });
}
