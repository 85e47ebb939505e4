import { formatFlags } from '../../../commands.ts';
import { getStatePaths } from '../layout.ts';
import { buildRoleBinding, type NodePart } from '../node-part.ts';

/** Gives each claim a folder of the node, which is deleted with the claim. */
export const volumeProvisioner: NodePart = {
  manifest: () => [
    {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'StorageClass',
      metadata: {
        name: 'standard',
        annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' },
      },
      provisioner: 'gx-platform.dev/node-folder',
      reclaimPolicy: 'Delete',
      volumeBindingMode: 'WaitForFirstConsumer',
    },
    buildRoleBinding({
      user: 'system:volume-provisioner',
      role: 'system:persistent-volume-provisioner',
    }),
  ],
  processes: (layout) => [
    {
      name: 'volume-provisioner',
      tool: 'volume-provisioner',
      args: formatFlags({
        kubeconfig: getStatePaths(layout).pki('volume-provisioner.kubeconfig'),
        root: getStatePaths(layout).volumes,
      }),
    },
  ],
};
