import { readFile } from 'node:fs/promises';
import { isIPv6 } from 'node:net';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { SecureContextOptions } from 'node:tls';
import { readProcessEnv } from '../config/env.ts';
import { toError, StartError } from '../errors.ts';

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';
/** A rotated token stays valid for minutes, so reading files this often is soon enough. */
const REFRESH_AFTER = 10_000;

export type Tls = SecureContextOptions & {
  servername?: string;
  rejectUnauthorized?: boolean;
};
export type Access = { tls: Tls; headers: Record<string, string> };

/**
 * Where the API server is and how to authenticate. `access` rereads files and refreshes tokens; `renew` makes its next
 * call do so at once.
 */
export type Credentials = {
  server: URL;
  namespace: string;
  access(): Promise<Access>;
  renew(): void;
};

/** Loads the given kubeconfig, else KUBECONFIG, else the pod's service account, else ~/.kube/config. */
export async function loadCredentials(kubeconfig?: string): Promise<Credentials> {
  const env = readProcessEnv();
  const path = kubeconfig ?? env.KUBECONFIG;
  if (path !== undefined) return readKubeconfig(path);
  if (env.KUBERNETES_SERVICE_HOST !== undefined)
    return readServiceAccount(env.KUBERNETES_SERVICE_HOST, env.KUBERNETES_SERVICE_PORT);
  return readKubeconfig(join(homedir(), '.kube', 'config'));
}

async function readServiceAccount(host: string, port = '443'): Promise<Credentials> {
  const namespace = await readFile(`${SERVICE_ACCOUNT}/namespace`, 'utf8').catch(() => 'default');
  const load = async (): Promise<Access> => {
    const [ca, token] = await Promise.all([
      readFile(`${SERVICE_ACCOUNT}/ca.crt`),
      readFile(`${SERVICE_ACCOUNT}/token`, 'utf8'),
    ]);
    return { tls: { ca }, headers: { authorization: `Bearer ${token.trim()}` } };
  };
  return {
    server: new URL(`https://${isIPv6(host) ? `[${host}]` : host}:${port}`),
    namespace: namespace.trim(),
    ...cacheAccess(load),
  };
}

async function readKubeconfig(path: string): Promise<Credentials> {
  // The package is loaded only here, because it costs 0.9 s and 90 MB, which pods can do without.
  const { KubeConfig } = await import('@kubernetes/client-node/dist/config.js');
  const config = new KubeConfig();
  try {
    config.loadFromFile(path);
  } catch (error) {
    throw new StartError(`Can't read the kubeconfig ${path}: ${toError(error).message}`, {
      cause: error,
    });
  }
  const cluster = config.getCurrentCluster();
  if (cluster === null) throw new StartError(`The kubeconfig ${path} has no current cluster.`);
  if (cluster.proxyUrl !== undefined)
    throw new StartError(
      `The kubeconfig ${path} names a proxy (proxy-url), which is not supported.`,
    );
  const load = async (): Promise<Access> => {
    const options: Parameters<typeof config.applyToHTTPSOptions>[0] = {};
    await config.applyToHTTPSOptions(options);
    return { tls: toTls(options), headers: buildHeaders(options) };
  };
  const namespace = config.getContextObject(config.getCurrentContext())?.namespace ?? 'default';
  return { server: new URL(cluster.server), namespace, ...cacheAccess(load) };
}

type HttpsOptions = { [Name in keyof Tls]: Tls[Name] | undefined } & {
  headers?: unknown;
  auth?: string | null | undefined;
};

const toTls = ({ ca, cert, key, servername, rejectUnauthorized }: HttpsOptions): Tls => ({
  ...(ca && { ca }),
  ...(cert && { cert }),
  ...(key && { key }),
  ...(servername !== undefined && { servername }),
  ...(rejectUnauthorized !== undefined && { rejectUnauthorized }),
});

const buildHeaders = ({ headers, auth }: HttpsOptions): Record<string, string> => ({
  ...(auth && { authorization: `Basic ${Buffer.from(auth).toString('base64')}` }),
  ...Object.fromEntries(
    Object.entries((headers ?? {}) as Record<string, unknown>).map(([name, value]) => [
      name.toLowerCase(),
      String(value),
    ]),
  ),
});

function cacheAccess(load: () => Promise<Access>): Pick<Credentials, 'access' | 'renew'> {
  let last: { at: number; access: Promise<Access> } | undefined;
  return {
    access: () => {
      const now = performance.now();
      if (last === undefined || now - last.at > REFRESH_AFTER) {
        const entry = { at: now, access: load() };
        entry.access.catch(() => {
          if (last === entry) last = undefined;
        });
        last = entry;
      }
      return last.access;
    },
    renew: () => {
      last = undefined;
    },
  };
}
