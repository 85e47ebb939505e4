import type { DeploymentResource } from '../../../../schema/platform/resources/custom-resources.ts';
import { names } from '../../../../schema/names.ts';

/** The folder with the database's certificate and key, which the kubelet keeps up to date with their Secret. */
const SERVER = '/etc/gx-database-tls';
const SERVES = 'tls';

/** The mode of the key. Postgres accepts a key of root only if nobody but its own group may also read it. */
const KEY_MODE = 0o440;

/** Returns the parts by which the pod of a database serves TLS: its volume, its mount, and Postgres' settings. */
export const buildServedTls = (deployment: DeploymentResource) => ({
  volume: {
    name: SERVES,
    secret: {
      secretName: names.databaseTls(deployment.metadata.name),
      defaultMode: KEY_MODE,
      items: buildItems('tls.crt', 'tls.key', 'ca.crt'),
    },
  },
  mount: { name: SERVES, mountPath: SERVER, readOnly: true },
  /** The files of the certificate, its key and its authority, and the certificate's name. */
  files: {
    certificate: `${SERVER}/tls.crt`,
    key: `${SERVER}/tls.key`,
    authority: `${SERVER}/ca.crt`,
    name: names.database(deployment.metadata.name),
  },
  settings: {
    ssl: 'on',
    ssl_cert_file: `${SERVER}/tls.crt`,
    ssl_key_file: `${SERVER}/tls.key`,
    ssl_min_protocol_version: 'TLSv1.3',
  },
});

const buildItems = (...keys: string[]): object[] => keys.map((key) => ({ key, path: key }));
