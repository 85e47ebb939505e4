import { isDockerRunning } from '../commands.ts';
import { readDevConfig } from '../env.ts';
import { MissingRequirement, UsageError } from '../errors.ts';
import { kind } from './kind.ts';
import { native } from './native.ts';
import type { Provider } from './provider.ts';

/** Returns the ways of running a cluster on this machine, the preferred one first. */
export async function listProviders(): Promise<Provider[]> {
  const { clusterKind } = readDevConfig();
  if (clusterKind !== undefined) return [requireProvider(clusterKind)];
  const isNativePossible = process.platform === 'linux' && process.getuid?.() === 0;
  return [...((await isDockerRunning()) ? [kind] : []), ...(isNativePossible ? [native] : [])];
}

/** Returns the preferred way. Throws `MissingRequirement` if there is none. */
export async function choose(): Promise<Provider> {
  const [first] = await listProviders();
  if (first !== undefined) return first;
  throw new MissingRequirement(
    'A cluster needs Docker, or Linux with root: Docker does not answer here, and ' +
      (process.platform === 'linux' ? 'this user is not root.' : 'this is not Linux.'),
  );
}

function requireProvider(name: string): Provider {
  const provider = [kind, native].find((one) => one.kind === name);
  if (provider === undefined)
    throw new UsageError(`GX_CLUSTER is "native" or "kind", not "${name}".`);
  return provider;
}
