import { databaseOf } from '../../database/engines.ts';
import { waiting } from '../../kernel/outcome.ts';
import type { Facts, Part, PartPrepared, PartReport, WrittenFacts } from '../part.ts';

const desiredDatabase = (facts: Facts) => databaseOf(facts.deployment.spec).desired(facts.deployment, facts.settings, facts);

/** The database of a deployment, by the engine that it asks for. */
export const database: Part = {
  desired: desiredDatabase,
  prepare: preparedBy(false),
  whileHeld: preparedBy(true),
  async step(deps, { deployment, ...view }, signal) {
    const step = await databaseOf(deployment.spec).step(deps, deployment, { view, signal });
    return step === undefined ? {} : { statements: [step] };
  },
  report: databaseReport,
};

function preparedBy(isHeld: boolean): NonNullable<Part['prepare']> {
  return (deps, facts, signal): Promise<PartPrepared> => {
    const { deployment, now } = facts;
    const pass = { view: facts, objects: desiredDatabase(facts), isHeld, signal, now };
    return databaseOf(deployment.spec).prepare(deps, deployment, pass);
  };
}

/** A Secret that is gone or broken stays in the status as the one that pods were started with. */
function databaseReport(facts: WrittenFacts): PartReport {
  const { deployment, secret } = facts;
  const { ready, statements, template, again, poll } = databaseOf(deployment.spec).report(deployment, { ...facts, view: facts });
  const { databaseSecret, databaseSecretVersion } = deployment.status ?? {};
  const named = secret !== undefined && 'secret' in secret ? secret : { secret: databaseSecret, version: databaseSecretVersion };
  return {
    statements: [ready, ...statements],
    status: {
      ...(named.secret !== undefined && { databaseSecret: named.secret }),
      ...(named.version !== undefined && { databaseSecretVersion: named.version }),
      ...(template !== undefined && { databaseTemplate: template }),
    },
    again: [again],
    ...(ready.status !== 'True' && { unready: waiting(ready.reason, ready.message, poll) }),
  };
}
