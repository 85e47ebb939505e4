import type { Provider } from './provider.ts';
import { kind } from './kind.ts';
import { native } from './native.ts';
import { succeeds } from './commands.ts';

/** The ways of having a cluster on this machine, the preferred one first. */
export async function available(): Promise<Provider[]> {
  const wish = process.env['GX_CLUSTER'];
  if (wish) return [wished(wish)];
  const isNativePossible = process.platform === 'linux' && process.getuid?.() === 0;
  return [...((await dockerAnswers()) ? [kind] : []), ...(isNativePossible ? [native] : [])];
}

export async function choose(): Promise<Provider> {
  const [first] = await available();
  if (first !== undefined) return first;
  throw new Error(
    'A cluster needs Docker, or Linux with root: Docker does not answer here, and ' +
      (process.platform === 'linux' ? 'this user is not root.' : 'this is not Linux.'),
  );
}

function wished(name: string): Provider {
  const provider = [kind, native].find((one) => one.kind === name);
  if (provider === undefined) throw new Error(`GX_CLUSTER is "native" or "kind", not "${name}".`);
  return provider;
}

const dockerAnswers = (): Promise<boolean> => succeeds('docker', ['info']);
