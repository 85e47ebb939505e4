import { existsSync, readFileSync } from 'node:fs';
import { runProcess } from '../commands.ts';
import type { Cluster, ClusterHost, RegistryAccount } from '../cluster/provider.ts';
import { readDevConfig } from '../env.ts';
import { readNpmSetting } from '../images/native/package-settings.ts';

export const BUILD_NAMESPACE = 'gx-builds';

const PUSH = 'push';
const CERTIFICATES = 'certificates';
const USUAL_REGISTRY = 'https://registry.npmjs.org/';

const buildEgressRule = ({ peer }: ClusterHost): object => ({
  to: [{ ipBlock: { cidr: peer.cidr } }],
  ports: [{ port: peer.port, protocol: 'TCP' }],
});

/**
 * Returns the chart's values for builds that push to the cluster's registry and trust the certificates that this
 * machine trusts.
 */
export async function buildValues(
  { registry, gitHost }: Cluster,
  hasBuildkit: boolean,
): Promise<object> {
  const npm = await readNpmSetting('registry');
  const isOwn =
    npm !== undefined && npm !== USUAL_REGISTRY && !/^https?:\/\/(localhost|127\.)/.test(npm);
  return {
    registry: `${registry.name}/agents`,
    ...(hasBuildkit && { buildkit: { enabled: true } }),
    ...(registry.account !== undefined && { pushSecret: PUSH }),
    insecure: true,
    // Builds share two cores with everything else; their limit is one.
    cpuMilli: 100,
    memoryMb: 768,
    ...(isOwn && { npmRegistry: npm }),
    ...((await readCertificates()) !== '' && { caConfigMap: CERTIFICATES }),
    network: { reached: [buildEgressRule(registry), buildEgressRule(gitHost)] },
  };
}

/** Gives builds the credentials to push, and the certificate authorities that Node trusts here besides its own. */
export async function applyBuildObjects({ kubectl, kubeconfig, registry }: Cluster): Promise<void> {
  const trusted = await readCertificates();
  const buildObjectHead = (name: string) => ({
    apiVersion: 'v1',
    metadata: { name, namespace: BUILD_NAMESPACE },
  });
  const items = [
    ...(registry.account === undefined
      ? []
      : [{ ...buildObjectHead(PUSH), ...buildRegistrySecret(registry.name, registry.account) }]),
    ...(trusted === ''
      ? []
      : [{ ...buildObjectHead(CERTIFICATES), kind: 'ConfigMap', data: { 'ca.crt': trusted } }]),
  ];
  const args = ['apply', '--server-side', '--filename', '-', '--kubeconfig', kubeconfig];
  await runProcess(kubectl, args, {
    input: JSON.stringify({ apiVersion: 'v1', kind: 'List', items }),
  });
}

function buildRegistrySecret(registry: string, { username, password }: RegistryAccount): object {
  const auths = { [registry]: { auth: btoa(`${username}:${password}`) } };
  return {
    kind: 'Secret',
    type: 'kubernetes.io/dockerconfigjson',
    stringData: { '.dockerconfigjson': JSON.stringify({ auths }) },
  };
}

async function readCertificates(): Promise<string> {
  const files = [readDevConfig().certificates, await readNpmSetting('cafile')].filter(
    (file) => file !== undefined,
  );
  return [...new Set(files)]
    .filter(existsSync)
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n');
}
