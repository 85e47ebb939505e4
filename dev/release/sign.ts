import { access, chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureTools } from '../cluster/parts.ts';
import { runProcess } from '../commands.ts';
import { DevError } from '../errors.ts';

/** The files of a release that are signed: with the checksums every file is, and by itself each image's digest. */
const SIGNED = ['checksums.txt', 'images.json'];

/** No log of signatures is asked: the release is verified without a network, by the key alone. */
const OFFLINE = ['--use-signing-config=false', '--tlog-upload=false'];

/** Throws if there is no key, before anything is made. */
export const requireKey = (key: string): Promise<void> =>
  access(key).catch(() => {
    throw new DevError(`There is no key at ${key}.`);
  });

/** Signs a release with the private key of a file, whose password is COSIGN_PASSWORD. Returns the signatures. */
export async function sign(folder: string, key: string): Promise<string[]> {
  const { cosign } = await ensureTools(['cosign']);
  const bundles = SIGNED.map((name) => ({
    file: join(folder, name),
    bundle: join(folder, `${name}.sigstore.json`),
  }));
  for (const { file, bundle } of bundles) {
    await runProcess(cosign, [
      'sign-blob',
      '--yes',
      '--key',
      key,
      '--bundle',
      bundle,
      ...OFFLINE,
      file,
    ]);
    await chmod(bundle, 0o644);
  }
  return bundles.map(({ bundle }) => bundle);
}
