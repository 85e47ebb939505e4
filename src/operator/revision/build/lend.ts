import { Rejected } from '../../../errors.ts';
import { taken } from '../../../kube/errors.ts';
import { kinds } from '../../../kube/kube.ts';
import type { RevisionResource } from '../../../schema/platform/custom-resources.ts';
import type { Builder } from '../../../config/builder.ts';
import type { OperatorDeps } from '../../view/deps.ts';
import { stagedMetadata, type Lent, type StagedSource } from './staged-job.ts';

const AUTHORITIES = 'ca.crt';
const REGISTRY = '.dockerconfigjson';

type Deps = Pick<OperatorDeps, 'kube' | 'writer'>;
/** A build that is about to begin. `git` is its credential for the git host: the data of a Secret, in base64. */
export type PreparedSource = Pick<StagedSource, 'commit' | 'insecureGit' | 'tenant'> & { git?: Record<string, string> | undefined };
type Lending = { builder: Builder; namespace: string; source: PreparedSource; signal: AbortSignal };

/** Lends one build the credential of its git host, in a Secret that goes with it. Returns the Secret's name. */
export async function lendCredential(
  deps: Deps,
  revision: RevisionResource,
  { namespace, source, signal }: Pick<Lending, 'namespace' | 'source' | 'signal'>,
): Promise<string | undefined> {
  return source.git && keep(deps, stagedMetadata(revision, namespace, source.tenant), { data: source.git, signal });
}

/**
 * Lends one build in another namespace the data that it needs, in a Secret that goes with it: credentials of its git
 * host and of the registry, and certificate authorities.
 */
export async function lendTo(
  deps: Deps,
  revision: RevisionResource,
  { builder, namespace, source, signal }: Lending,
): Promise<Lent | undefined> {
  const { kube } = deps;
  const home = { namespace: builder.namespace };
  const { git = {} } = source;
  const registry = await registryCredential(deps, builder.registrySecretName, { ...home, signal });
  const ca = builder.caConfigMapName;
  const trusted = ca === undefined ? undefined : (await kube.find(kinds.configMap, { ...home, name: ca }, signal))?.data?.[AUTHORITIES];
  const data = {
    ...git,
    ...(registry !== undefined && { [REGISTRY]: registry }),
    ...(trusted !== undefined && { [AUTHORITIES]: Buffer.from(trusted).toString('base64') }),
  };
  if (Object.keys(data).length === 0) return undefined;
  const secret = await keep(deps, stagedMetadata(revision, namespace, source.tenant), { data, signal });
  return { secret, git: Object.keys(git), registry: registry !== undefined, authorities: trusted !== undefined };
}

async function registryCredential(
  { kube }: Pick<Deps, 'kube'>,
  name: string | undefined,
  { namespace, signal }: { namespace: string; signal: AbortSignal },
): Promise<string | undefined> {
  if (name === undefined) return undefined;
  const found = await kube.find(kinds.secret, { namespace, name }, signal);
  if (found === undefined) throw new Rejected(`The Secret ${name} is not in the namespace ${namespace}.`);
  return found.data?.[REGISTRY];
}

type Kept = { data: Record<string, string>; signal: AbortSignal };

/** Writes the Secret of a build, in place of one that an earlier attempt has left. */
async function keep({ kube, writer }: Deps, metadata: ReturnType<typeof stagedMetadata>, { data, signal }: Kept): Promise<string> {
  const { name, namespace = '' } = metadata;
  await kube.delete(kinds.secret, { namespace, name }, {}, signal);
  if (!(await writer.create({ apiVersion: 'v1', kind: 'Secret', metadata, type: 'Opaque', data }, signal))) throw taken(`Secret ${name}`);
  return name;
}
