import { CUSTOM_URI } from '../../../schema/platform/spec/database-spec.ts';
import type { DatabaseEngine } from '../database.ts';
import { external } from '../external/engine.ts';
import { readAddressSecret } from '../external/secret.ts';

/**
 * A database that the deployment's own secrets name, which reach the pods as variables. So a change of them is a new
 * revision, and the pods of the former one keep theirs.
 */
export const fromSecrets: DatabaseEngine = {
  ...external,
  address: ({ status }) => (status?.databaseSecret === undefined ? undefined : { inSecrets: true }),
  async prepare(deps, deployment, pass) {
    const { secretName } = deployment.spec.template;
    const secret =
      secretName === undefined
        ? {
            problem: `The deployment has no secrets, and database.fromSecrets looks for ${CUSTOM_URI} there.`,
          }
        : await readAddressSecret(deps, deployment, { secretName, key: CUSTOM_URI }, pass);
    return { secret };
  },
};
