import { type BackupResource } from '../../src/schema/platform/resources/custom-resources.ts';
import { API_VERSION } from '../../src/schema/platform/objects/api-group.ts';

type Given = { namespace: string; deployment: string; uid: string; backup: string };

/** Returns the object of a dump, as the operator makes it. */
export const dumpRecord = ({ namespace, deployment, uid, backup }: Given): BackupResource => ({
  apiVersion: API_VERSION,
  kind: 'Backup',
  metadata: {
    namespace,
    name: uid.startsWith('9999') ? `former-${backup}` : `${deployment}-${backup}`,
  },
  spec: { deployment, deploymentUid: uid, backup, target: 'main', method: 'dump' },
});
