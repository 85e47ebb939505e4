import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { ensureParts } from '../../../dev/cluster/parts.ts';
import type { Kind, Kube } from '../../../src/kube/kube.ts';
import { kill, leashed } from '../../kit/leash.ts';

/*
 * Pods that are scheduled and become ready, though nobody runs them: Kubernetes' own scheduler places them, and kwok
 * takes the kubelet's place.
 */

const node: Kind = { apiVersion: 'v1', kind: 'Node', plural: 'nodes', namespaced: false };
const ENDLESS = { cpu: '1000000', memory: '1000Ti', pods: '1000000' };

const STAGES = join(import.meta.dirname, 'stages.yaml');

/** No volumes are made here, so the scheduler must not wait for them. */
const schedulerConfig = (kubeconfig: string): object => ({
  apiVersion: 'kubescheduler.config.k8s.io/v1',
  kind: 'KubeSchedulerConfiguration',
  clientConnection: { kubeconfig },
  leaderElection: { leaderElect: false },
  profiles: [
    {
      schedulerName: 'default-scheduler',
      plugins: {
        multiPoint: {
          disabled: ['VolumeBinding', 'VolumeRestrictions', 'VolumeZone', 'NodeVolumeLimits'].map(
            (name) => ({ name }),
          ),
        },
      },
    },
  ],
});

export async function startPods(
  kube: Kube,
  kubeconfig: string,
): Promise<{ stop(): Promise<void> }> {
  const tools = await ensureParts(['kube', 'kwok']);
  const dir = mkdtempSync(join(tmpdir(), 'gx-bench-pods-'));
  const config = join(dir, 'scheduler.yaml');
  writeFileSync(config, stringify(schedulerConfig(kubeconfig)));
  await kube.create(node, {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'kwok', labels: { 'kubernetes.io/hostname': 'kwok' } },
    status: { allocatable: ENDLESS, capacity: ENDLESS },
  });
  // The API server taints every new node as not ready. The controller that would remove the taint does not run here.
  await kube.patchJson(node, { name: 'kwok' }, [{ op: 'remove', path: '/spec/taints' }]);
  const start = (tool: string, args: string[]): ChildProcess =>
    leashed(tools[tool] as string, args, join(dir, `${tool}.log`));
  const running = [
    start('kube-scheduler', [`--config=${config}`, '--secure-port=0']),
    start('kwok', [`--kubeconfig=${kubeconfig}`, '--manage-all-nodes', `--config=${STAGES}`]),
  ];
  return {
    stop: async () => {
      for (const child of running) await kill(child);
      await rm(dir, { recursive: true, force: true });
    },
  };
}
