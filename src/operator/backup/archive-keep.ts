import { trimCredential } from '../../schema/platform/source/pasted-credential.ts';
import { kinds } from '../../kube/kinds.ts';
import { names } from '../../schema/names.ts';
import type { DeploymentResource } from '../../schema/platform/resources/custom-resources.ts';
import type { ArchivePlace } from '../../schema/wire/pgbackrest.ts';
import { buildTakeOverPatch } from '../objects/ownership.ts';
import { writeSecret } from '../objects/write-secret.ts';
import type { OperatorDeps } from '../view/deps.ts';
import { buildArchiveSecret, type ArchiveUse } from './archive-secret.ts';

type Keys = ArchivePlace['keys'];
type ArchivePass = { deployment: DeploymentResource; signal: AbortSignal };

/**
 * Keeps the Secret with the files of pgBackRest as a use needs it. It follows the credential of the target. Returns the
 * name of a Secret that is missing; the files stay as they are then.
 */
export async function keepArchive(
  deps: OperatorDeps,
  use: ArchiveUse,
  { deployment, signal }: ArchivePass,
): Promise<string | undefined> {
  const { namespace, name } = deployment.metadata;
  const needed = [use.log, use.fill].flatMap((place) =>
    place === undefined ? [] : [place.target.secretName],
  );
  const known = new Map<string, Keys>();
  for (const secretName of new Set(needed)) {
    const keys = await readKeys(deps, { namespace, name: secretName }, signal);
    if (keys === undefined) return secretName;
    known.set(secretName, keys);
  }
  const wanted = buildArchiveSecret(
    deployment,
    use,
    (secretName) => known.get(secretName) ?? { accessKeyId: '', secretAccessKey: '' },
  );
  const live = await deps.kube.find(kinds.secret, { namespace, name: names.archive(name) }, signal);
  await writeSecret(deps, live, wanted, buildTakeOverPatch(deployment, live), signal);
  return undefined;
}

/** Removes the files. The database lets its log go from then on. */
export async function dropArchive(
  { kube }: OperatorDeps,
  { deployment, signal }: ArchivePass,
): Promise<void> {
  const { namespace, name } = deployment.metadata;
  await kube.delete(kinds.secret, { namespace, name: names.archive(name) }, {}, signal);
}

async function readKeys(
  { kube }: OperatorDeps,
  ref: { namespace: string | undefined; name: string },
  signal: AbortSignal,
): Promise<Keys | undefined> {
  const found = await kube.find(kinds.secret, ref, signal);
  const [accessKeyId, secretAccessKey] = ['accessKeyId', 'secretAccessKey'].map(
    (key) => found?.data?.[key],
  );
  if (accessKeyId === undefined || secretAccessKey === undefined) return undefined;
  const decodeText = (text: string): string =>
    trimCredential(Buffer.from(text, 'base64').toString('utf8'));
  return { accessKeyId: decodeText(accessKeyId), secretAccessKey: decodeText(secretAccessKey) };
}
