import type { OperatorSettings } from '../../../../config/operator.ts';
import type { KubeObject } from '../../../../kube/kube.ts';
import type { DeploymentResource } from '../../../../schema/custom-resources.ts';
import { SECRETS_OF } from '../../../../schema/labels.ts';
import { labelValue, names } from '../../../../schema/names.ts';
import type { TlsData } from './due.ts';
import { ownedMetadata } from '../../../family/metadata.ts';

/** Where the database finds its certificate and its key, which the kubelet keeps as new as their Secret. */
const SERVER = '/etc/gx-database-tls';
/** Where its clients find the authority that they know it by. */
const CLIENT = '/etc/gx-database';
const SERVES = 'tls';
const KNOWS = 'gx-database';

/** Every name that pods reach the database by, the short one first. */
export function databaseHosts({ metadata }: DeploymentResource, { clusterDomain }: OperatorSettings): [string, ...string[]] {
  const short = names.database(metadata.name);
  const inNamespace = `${short}.${metadata.namespace}`;
  return [short, inNamespace, `${inNamespace}.svc`, `${inNamespace}.svc.${clusterDomain}`];
}

/**
 * The Secret of the database's certificate. It goes with its deployment, because the data does not depend on it; the label lets the
 * finalizer find it.
 */
export function tlsSecret(deployment: DeploymentResource, data: TlsData): KubeObject & { data: Record<string, string> } {
  const { name } = deployment.metadata;
  const metadata = ownedMetadata(deployment, 'tls', names.databaseTls(name));
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { ...metadata, labels: { ...metadata.labels, [SECRETS_OF]: labelValue(name) } },
    type: 'kubernetes.io/tls',
    data: Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString('base64')])),
  };
}

/** Postgres takes a key of root's only when nobody but its own group may read it, too. */
const KEY_MODE = 0o440;

/** What makes the pod of a database serve TLS: its volume, its mount, and Postgres' settings. */
export const servedTls = (deployment: DeploymentResource) => ({
  volume: {
    name: SERVES,
    secret: { secretName: names.databaseTls(deployment.metadata.name), defaultMode: KEY_MODE, items: items('tls.crt', 'tls.key') },
  },
  mount: { name: SERVES, mountPath: SERVER, readOnly: true },
  settings: {
    ssl: 'on',
    ssl_cert_file: `${SERVER}/tls.crt`,
    ssl_key_file: `${SERVER}/tls.key`,
    ssl_min_protocol_version: 'TLSv1.3',
  },
});

/** What lets a pod know the database by its authority: nothing of the Secret but that certificate. */
export const knownTls = (secretName: string) => ({
  volume: { name: KNOWS, secret: { secretName, items: items('ca.crt') } },
  mount: { name: KNOWS, mountPath: CLIENT, readOnly: true },
  /** As libpq and its kin in other languages want it in an address. */
  parameters: { sslmode: 'verify-full', sslrootcert: `${CLIENT}/ca.crt` },
});

const items = (...keys: string[]): object[] => keys.map((key) => ({ key, path: key }));

/** The pods of this set serve TLS: made so, and not kept from a time before. */
export const servesTls = (set: KubeObject | undefined): boolean => {
  const volumes = (set?.spec as { template?: { spec?: { volumes?: { name: string }[] } } } | undefined)?.template?.spec?.volumes ?? [];
  return volumes.some(({ name }) => name === SERVES);
};
