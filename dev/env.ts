import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { processEnv } from '../src/config/env.ts';

/** Everything that the programs of `dev/` read from the environment. Empty values count as unset. */
export function devConfig() {
  const env = processEnv();
  return {
    /** `kind` or `native`; unset: what the machine can do. */
    clusterKind: env['GX_CLUSTER'],
    /** A folder with Kubernetes' programs, preferred to those that are built here. */
    toolsFolder: env['KUBEBUILDER_ASSETS'],
    /** Where built parts and images are kept. */
    cacheFolder: join(env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'gx-platform'),
    /** Whether every failure is shown with its stack. */
    showsStacks: env['DEBUG'] !== undefined,
    /** Certificates that Node trusts beside its own. */
    certificates: env['NODE_EXTRA_CA_CERTS'],
    /** Folders in which commands are looked for. */
    path: (env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== ''),
  };
}

/** The environment of this process for a program that it starts, with some variables of the program's own. */
export const environmentWith = (own: Record<string, string>): Record<string, string | undefined> => ({ ...processEnv(), ...own });

/** What a program needs to reach the internet from this machine: proxies and certificates. */
export const networkEnvironment = (): Record<string, string | undefined> =>
  Object.fromEntries(Object.entries(processEnv()).filter(([name]) => /^(\w+_proxy|ssl_cert_\w+)$/i.test(name)));
