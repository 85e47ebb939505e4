import type { KubeObject } from '../../kube/kube.ts';
import type {
  BackupResource,
  RevisionResource,
} from '../../schema/platform/resources/custom-resources.ts';
import type { DatabaseView } from '../database/database.ts';

/** All that exists for a deployment, as the caches have it. */
export type DeploymentWorld = Omit<DatabaseView, 'isAsleep' | 'renewalHeld'> & {
  revisions: RevisionResource[];
  /** Revisions of an earlier deployment of the same name, which are not gone yet. */
  foreign: RevisionResource[];
  children: KubeObject[];
  backups: BackupResource[];
  backupPods: KubeObject[];
  restorePods: KubeObject[];
  verifyPods: KubeObject[];
  /** The namespace with its labels, where a Listener names it. */
  place: KubeObject | undefined;
  apiServer: string[];
  /** Slices of the gateway's own Service. */
  gateways: KubeObject[];
  /** The Service of the agents. */
  service: KubeObject | undefined;
};
