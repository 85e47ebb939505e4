import { flags } from '../../../commands.ts';
import { fileOf } from '../layout.ts';
import { roleBinding, type NodePart } from '../node-part.ts';

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
    roleBinding({ user: 'system:volume-provisioner', role: 'system:persistent-volume-provisioner' }),
  ],
  processes: (layout) => [
    {
      name: 'volume-provisioner',
      tool: 'volume-provisioner',
      args: flags({ kubeconfig: fileOf(layout).pki('volume-provisioner.kubeconfig'), root: fileOf(layout).volumes }),
    },
  ],
};
