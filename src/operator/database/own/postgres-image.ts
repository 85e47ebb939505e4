import type { OperatorSettings } from '../../../config/platform/operator.ts';
import type { DeploymentResource } from '../../../schema/platform/resources/custom-resources.ts';
import { buildImageUser } from '../../objects/user-of-image.ts';
import { resolveDatabasePlace } from '../../objects/placed.ts';
import { pullSecrets } from '../../objects/pull-secrets.ts';

/** The user and group `postgres` of the image. */
const POSTGRES_ID = 26;
export const DATA = '/var/lib/postgresql/data';
/** The folder of its socket. */
export const SOCKETS = '/var/run/postgresql';
/** The data has a folder of its own, because the root of a volume may hold lost+found, which initdb refuses. */
export const PGDATA = `${DATA}/pgdata`;

/** Returns the restricted pod security of every pod with the database's image. */
export function buildRestrictedPod(
  deployment: DeploymentResource,
  settings: OperatorSettings,
): object {
  const { imagePullSecrets } = deployment.spec.template.resourceSpec ?? {};
  return {
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    ...pullSecrets(imagePullSecrets, settings, { namespace: deployment.metadata.namespace }),
    ...resolveDatabasePlace(deployment, settings),
    securityContext: {
      runAsNonRoot: true,
      ...buildImageUser(POSTGRES_ID, settings),
      fsGroupChangePolicy: 'OnRootMismatch',
      seccompProfile: { type: 'RuntimeDefault' },
    },
  };
}

export const restrictedContainer = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
};
