import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { readProcessEnv } from '../src/config/env.ts';

/** Returns everything that the programs of `dev/` read from the environment. Empty values count as unset. */
export function readDevConfig() {
  const env = readProcessEnv();
  return {
    /** `kind` or `native`. If unset, the machine decides. */
    clusterKind: env['GX_CLUSTER'],
    /** The image of a kind cluster's node. If unset, a pinned one. */
    kindImage: env['GX_KIND_IMAGE'],
    /** A folder with Kubernetes' programs, which are preferred to those built here. */
    toolsFolder: env['KUBEBUILDER_ASSETS'],
    /** Whether programs are compiled for benchmarks: slower to compile, quicker to run. */
    needsOptimizedParts: env['GX_OPTIMIZED_PARTS'] !== undefined,
    /** Where built parts and images are kept. */
    cacheFolder: join(env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'gx-platform'),
    /** Whether every failure is shown with its stack. */
    showsStacks: env['DEBUG'] !== undefined,
    /** Certificates that Node trusts besides its own. */
    certificates: env['NODE_EXTRA_CA_CERTS'],
    /** Folders that are searched for commands. */
    path: (env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== ''),
  };
}

/** Returns the environment of this process with some more variables, for a program that it starts. */
export const extendEnvironment = (
  own: Record<string, string>,
): Record<string, string | undefined> => ({ ...readProcessEnv(), ...own });

/** Returns the variables with which a program reaches the internet from this machine: proxies and certificates. */
export const readNetworkEnvironment = (): Record<string, string | undefined> =>
  Object.fromEntries(
    Object.entries(readProcessEnv()).filter(([name]) => /^(\w+_proxy|ssl_cert_\w+)$/i.test(name)),
  );
