import { Rejected } from '../../../errors.ts';
import { taken } from '../../../kube/errors.ts';
import { kinds } from '../../../kube/kube.ts';
import type { RevisionResource } from '../../../schema/custom-resources.ts';
import type { Builder, StagedBuilds } from '../../../config/builder.ts';
import type { OperatorDeps } from '../../family/deps.ts';
import { stagedMetadata, type Lent, type StagedSource } from './staged-job.ts';

const AUTHORITIES = 'ca.crt';
const REGISTRY = '.dockerconfigjson';

type Lending = { builder: Builder; staged: StagedBuilds; namespace: string; source: StagedSource; signal: AbortSignal };

/**
 * Lends one build in another namespace what it needs of that of builds, in a Secret that goes with it: the credentials
 * of its git host and of the registry, and certificate authorities.
 */
export async function lendTo(
  { kube, writer }: Pick<OperatorDeps, 'kube' | 'writer'>,
  revision: RevisionResource,
  { builder, staged, namespace, source, signal }: Lending,
): Promise<Lent | undefined> {
  const home = { namespace: staged.namespace };
  const secretData = async (name: string | undefined): Promise<Record<string, string>> => {
    if (name === undefined) return {};
    const found = await kube.find(kinds.secret, { ...home, name }, signal);
    if (found === undefined) throw new Rejected(`The Secret ${name} is not in the namespace ${staged.namespace}.`);
    return found.data ?? {};
  };
  const git = await secretData(source.credentialSecret);
  const { [REGISTRY]: registry } = await secretData(builder.registrySecretName);
  const ca = staged.caConfigMapName;
  const trusted = ca === undefined ? undefined : (await kube.find(kinds.configMap, { ...home, name: ca }, signal))?.data?.[AUTHORITIES];
  const data = {
    ...git,
    ...(registry !== undefined && { [REGISTRY]: registry }),
    ...(trusted !== undefined && { [AUTHORITIES]: Buffer.from(trusted).toString('base64') }),
  };
  if (Object.keys(data).length === 0) return undefined;
  const metadata = stagedMetadata(revision, namespace, source.tenant);
  await kube.delete(kinds.secret, { namespace, name: metadata.name }, {}, signal);
  if (!(await writer.create({ apiVersion: 'v1', kind: 'Secret', metadata, type: 'Opaque', data }, signal)))
    throw taken(`Secret ${metadata.name}`);
  return { secret: metadata.name, git: Object.keys(git), registry: registry !== undefined, authorities: trusted !== undefined };
}
