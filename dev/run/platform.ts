import process from 'node:process';
import { runProcess } from '../commands.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { ensurePathTool } from '../cluster/path-tools.ts';
import { extendEnvironment } from '../env.ts';
import type { Report } from '../steps.ts';
import { isKeyAccepted, waitForControlPlane, type Api } from './control-plane.ts';
import { readEarlierKey } from './env-file.ts';
import { buildValues, applyBuildObjects } from './builds.ts';
import { buildImageValues, type Images } from './images.ts';

const SYSTEM_NAMESPACE = 'gx-system';
const AGENT_NAMESPACE = 'gx-agents';

/** `source` is the folder whose chart and program are taken: by default this checkout, where programs are started. */
type Installation = { cluster: Cluster; images: Images; report: Report; source?: string };

/** Installs or upgrades the Helm chart, waits for the control plane, and returns a key that it accepts. */
export async function installPlatform({
  cluster,
  images,
  report,
  source = '.',
}: Installation): Promise<Api> {
  const helm = await ensurePathTool('helm', report);
  await applyPodSecurity(cluster);
  report('helm upgrade --install gx charts/gx-platform');
  const install = [
    'upgrade',
    '--install',
    'gx',
    'charts/gx-platform',
    '--namespace',
    SYSTEM_NAMESPACE,
  ];
  const flags = ['--values', '-', '--wait', '--timeout', '5m', '--kubeconfig', cluster.kubeconfig];
  const values = {
    images: buildImageValues(images),
    ...(await buildLocalValues(cluster, images.buildkit !== undefined)),
  };
  try {
    await runProcess(helm, [...install, ...flags], { cwd: source, input: JSON.stringify(values) });
  } catch (error) {
    for (const line of await listWarnings(cluster)) report(line);
    throw error;
  }
  await applyBuildObjects(cluster);
  const url = `http://${cluster.nodeAddress}:${cluster.controlPlanePort}`;
  await waitForControlPlane(url);
  const key = readEarlierKey();
  if (key !== undefined && (await isKeyAccepted({ url, key }))) return { url, key };
  report('api-key create --name make-run --role admin');
  return { url, key: await createAdminKey(cluster, source) };
}

const WARNINGS_SHOWN = 10;

/** Returns the pods and the last warnings of Kubernetes, one a line, for an installation that failed. */
async function listWarnings({ kubectl, kubeconfig }: Cluster): Promise<string[]> {
  const flags = ['--namespace', SYSTEM_NAMESPACE, '--no-headers', '--kubeconfig', kubeconfig];
  const pods = ['get', 'pods', '--output', 'wide', ...flags];
  const type = ['--field-selector', 'type=Warning', '--sort-by', '.metadata.creationTimestamp'];
  const events = ['get', 'events', ...type, ...flags];
  const texts = await Promise.all(
    [pods, events].map((args) => runProcess(kubectl, args).catch((error: Error) => error.message)),
  );
  return texts.flatMap((text) => text.trimEnd().split('\n').slice(-WARNINGS_SHOWN));
}

/** Gives the platform's own namespace the same pod security as the namespaces that the chart makes. */
async function applyPodSecurity({ kubectl, kubeconfig }: Cluster): Promise<void> {
  const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
  const namespace = {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: SYSTEM_NAMESPACE, labels },
  };
  const args = ['apply', '--server-side', '--filename', '-', '--kubeconfig', kubeconfig];
  await runProcess(kubectl, args, { input: JSON.stringify(namespace) });
}

/**
 * Returns the chart's values beside the images: small sizes, because everything shares one machine, and node ports, so
 * that the machine can reach the workloads.
 */
export const buildLocalValues = async (
  cluster: Cluster,
  hasBuildkit: boolean,
): Promise<object> => ({
  agents: { namespaces: [AGENT_NAMESPACE] },
  settings: {
    profile: 'small',
    dbStorageGi: 1,
    exposeAs: 'NodePort',
    nodeHost: cluster.nodeAddress,
    imagePullPatienceSeconds: 30,
    // A person who tries it out waits for it.
    scaling: { downSeconds: 20 },
  },
  controlPlane: {
    service: { type: 'NodePort', nodePort: cluster.controlPlanePort },
    gitHosts: [`http://${cluster.gitHost.name}`],
  },
  builds: await buildValues(cluster, hasBuildkit),
});

/** Makes a key with which everything may be done, by the program of a checkout. */
export async function createAdminKey({ kubeconfig }: Cluster, source: string): Promise<string> {
  const args = [
    'src/main.ts',
    'api-key',
    'create',
    '--name',
    'make-run',
    '--role',
    'admin',
    '--namespace',
    SYSTEM_NAMESPACE,
    '--quiet',
  ];
  const output = await runProcess(process.execPath, args, {
    cwd: source,
    env: extendEnvironment({ KUBECONFIG: kubeconfig }),
  });
  return output.trim();
}
