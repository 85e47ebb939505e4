import type { OperatorSettings } from '../../config/platform/operator.ts';
import type { KubeObject } from '../../kube/kube.ts';
import type { DeploymentResource } from '../../schema/platform/resources/custom-resources.ts';
import { REPLACES } from '../../schema/platform/objects/labels.ts';
import { names } from '../../schema/names.ts';
import {
  buildEncryptionFiles,
  toVariable,
  PIPE,
  buildScratchContainer,
  storeJob,
  storeSpeaker,
} from './pod.ts';
import type { ReplaceOrder } from './replace-plan.ts';
import { BEGIN_RESTORE } from './restore-script.ts';

/** Says which Postgres the image has. */
const VERSION = `${BEGIN_RESTORE}
{ postgres --version | grep -o '[0-9][0-9.]*' | head -n 1 && echo empty; } > asked 2> error || ends 2
mv asked found`;

/**
 * Returns the Job that looks whether a backup can be restored, while the agents serve: whether it is in the catalogue,
 * whether the image knows its schema, and whether the deployment has its encryption keys.
 */
export function checkJob(
  deployment: DeploymentResource,
  plan: ReplaceOrder,
  requestedAt: string,
  settings: OperatorSettings,
): KubeObject {
  const secrets = buildEncryptionFiles(deployment);
  const speaking = {
    args: ['backup', 'check'],
    variable: 'GX_RESTORE',
    order: plan.order,
    target: plan.target,
  };
  return storeJob(
    deployment,
    {
      component: 'restore',
      name: names.restoreCheck(deployment.metadata.name),
      annotations: { [REPLACES]: formatCheckName(requestedAt) },
      target: plan.target,
      volumes: secrets.map(({ volume }) => volume),
      containers: [
        buildScratchContainer({ script: VERSION, env: [toVariable(['PIPE', PIPE])] }, settings),
        storeSpeaker({ ...speaking, secrets }, settings),
      ],
    },
    settings,
  );
}

/** Returns the annotation of the pod that looks whether the backup of a request can be restored. */
export const formatCheckName = (requestedAt: string): string => `check ${requestedAt}`;
