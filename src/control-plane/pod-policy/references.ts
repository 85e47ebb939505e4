import type { Grant } from '../../config/platform/control-plane.ts';
import { Rejected } from '../../errors.ts';
import { kinds } from '../../kube/kinds.ts';
import type { Kind, Kube } from '../../kube/kube.ts';
import {
  DEPLOYMENT,
  FOR_AGENTS,
  PART_OF,
  SECRETS_OF,
} from '../../schema/platform/objects/labels.ts';
import type { ResourceSpec } from '../../schema/platform/spec/resource-spec.ts';
import type { Json } from '../../schema/json.ts';

const serviceAccount: Kind = {
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  plural: 'serviceaccounts',
  namespaced: true,
};

/** An object that a spec names. One that `mayMiss` may be absent and created later. */
type Reference = { path: string; kind: Kind; name: string; mayMiss?: boolean };

type Scope = {
  namespace: string;
  /** `reserved`: names of Secrets and claims that lie beside agents, and are the installation's. */
  rules: { grants: readonly Grant[]; reserved: Record<'secrets' | 'claims', readonly string[]> };
  signal: AbortSignal;
};

const AT = 'source_config.resource_spec';

/**
 * Throws unless the objects that the spec names in the namespace exist and are neither the platform's nor another
 * deployment's.
 */
export async function checkReferences(
  kube: Kube,
  { spec, ...scope }: Scope & { spec: ResourceSpec | null | undefined },
): Promise<void> {
  const broken = await Promise.all(
    listReferences(spec).map((named) => checkReference(kube, named, scope)),
  );
  const problems = broken.filter((problem) => problem !== undefined);
  if (problems.length > 0) throw new Rejected(problems.join('; '));
}

async function checkReference(
  kube: Kube,
  { path, kind, name, mayMiss }: Reference,
  { namespace, rules: { grants, reserved }, signal }: Scope,
): Promise<string | undefined> {
  const names =
    kind === kinds.secret ? reserved.secrets : kind === kinds.volumeClaim ? reserved.claims : [];
  // Also before there is one: a pod that waits for it would get it.
  if (names.includes(name)) return `${path}: ${kind.kind} ${name} belongs to the platform`;
  const found = await kube.find(kind, { namespace, name }, signal);
  if (found === undefined)
    return mayMiss === true
      ? undefined
      : `${path}: there is no ${kind.kind} ${name} in namespace ${namespace}`;
  const labels = found.metadata.labels ?? {};
  const own =
    labels[PART_OF] === 'gx-platform' ||
    [DEPLOYMENT, SECRETS_OF].some((key) => labels[key] !== undefined);
  if (own) return `${path}: ${kind.kind} ${name} belongs to the platform`;
  const isOffered =
    kind !== serviceAccount || grants.includes('accounts') || labels[FOR_AGENTS] === 'true';
  return isOffered
    ? undefined
    : `${path}: ServiceAccount ${name} is not for agents: its owner allows it by the label ${FOR_AGENTS}=true`;
}

function listReferences(spec: ResourceSpec | null | undefined): Reference[] {
  if (!spec) return [];
  const account = spec.service_account_name;
  const volumes = (spec.volumes ?? []).flatMap((volume, index) => [
    ...toReferences(kinds.secret, volume.secret?.secretName, `${AT}.volumes.${index}.secret`),
    ...toReferences(
      kinds.volumeClaim,
      volume.persistentVolumeClaim?.claimName,
      `${AT}.volumes.${index}.persistentVolumeClaim`,
    ),
    ...toReferences(
      kinds.secret,
      getInner(volume.csi, 'nodePublishSecretRef').name,
      `${AT}.volumes.${index}.csi`,
    ),
    ...listProjectedSecrets(volume.projected, `${AT}.volumes.${index}.projected`),
  ]);
  const containers = [...(spec.init_containers ?? []), ...(spec.sidecars ?? [])].flatMap(
    ({ name, env, envFrom }) => [
      ...(env ?? []).flatMap((entry) =>
        toReferences(
          kinds.secret,
          getInner(entry.valueFrom, 'secretKeyRef').name,
          `${AT}: env of container ${name}`,
        ),
      ),
      ...(envFrom ?? []).flatMap((source) =>
        toReferences(
          kinds.secret,
          getInner(source, 'secretRef').name,
          `${AT}: envFrom of container ${name}`,
        ),
      ),
    ],
  );
  const pulls = (spec.image_pull_secrets ?? []).map(({ name }, index) => ({
    path: `${AT}.image_pull_secrets.${index}`,
    kind: kinds.secret,
    name,
    mayMiss: true,
  }));
  return [
    ...pulls,
    ...toReferences(serviceAccount, account, `${AT}.service_account_name`),
    ...volumes,
    ...containers,
  ];
}

const getInner = (value: Json | null | undefined, key: string): Json =>
  (value?.[key] ?? {}) as Json;

const toReferences = (kind: Kind, name: unknown, path: string): Reference[] =>
  typeof name === 'string' ? [{ path, kind, name }] : [];

function listProjectedSecrets(projected: Json | null | undefined, path: string): Reference[] {
  const sources = Array.isArray(projected?.sources) ? (projected.sources as Json[]) : [];
  return sources.flatMap((source) =>
    toReferences(kinds.secret, getInner(source, 'secret').name, path),
  );
}
