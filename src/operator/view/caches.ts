import { Cache, type IndexBy } from '../../kube/cache.ts';
import type { Kind } from '../../kube/kube.ts';
import type {
  BackupResource,
  DeploymentResource,
  RevisionResource,
  RevisionSpec,
} from '../../schema/platform/resources/custom-resources.ts';
import { type ObjectMeta } from '../../schema/platform/objects/object-meta.ts';
import { API_VERSION } from '../../schema/platform/objects/api-group.ts';
import { isBackupOver } from '../../schema/platform/backup/backup-spec.ts';
import { ROUTED } from '../../schema/platform/objects/conditions.ts';
import { listDeploymentIds } from '../../schema/platform/resources/deployment-ids.ts';
import { AGENTS_NAMESPACE, DEPLOYMENT, REVISION } from '../../schema/platform/objects/labels.ts';
import type { Watched } from '../kernel/writer.ts';
import type { KindRow, KindTable } from '../kinds/row.ts';
import { OPERATOR_KINDS } from '../kinds/table.ts';
import { listRoutePlaces } from '../routes/stored.ts';

export const BY_DEPLOYMENT = 'deployment';
export const BY_REVISION = 'revision';
/** Indexes deployments and tracing projects by a name that is unique in the whole cluster. */
export const BY_NAME = 'name';
export const BY_NAMESPACE = 'namespace';
/** Indexes deployments by their uid and by the id that they claim. */
export const BY_ID = 'id';
/** Indexes deployments and revisions by the Secrets that they refer to. */
export const BY_SECRET = 'secret';
/** Indexes revisions that are being built or wait for it. */
export const BY_BUILD = 'build';
/** Indexes deployments by the reason why their route does not lead to them. */
export const BY_ROUTED = 'routed';
/** Indexes backups that are being made, or verified. */
export const BY_END = 'end';
/** Indexes routes by the places that they claim. */
export const BY_PLACE = 'place';

/** Returns `namespace/name` of the deployment or revision that an object was made for, which its annotation names. */
const buildOwnerIndex = (annotation: string, buildNamespaces?: readonly string[]): IndexBy => {
  return (object) => {
    const name = object.metadata.annotations?.[annotation];
    return name === undefined ? [] : [`${getHomeNamespace(object, buildNamespaces)}/${name}`];
  };
};

/**
 * Returns the namespace of the deployment that an object was made for: its own, but for builds. Only the operator makes
 * objects in the namespaces of builds, so their annotation of another one is true.
 */
export const getHomeNamespace = (
  { metadata }: { metadata: ObjectMeta },
  buildNamespaces: readonly string[] = [],
): string | undefined =>
  metadata.namespace !== undefined && buildNamespaces.includes(metadata.namespace)
    ? (metadata.annotations?.[AGENTS_NAMESPACE] ?? metadata.namespace)
    : metadata.namespace;

const listSecretKeys = ({
  metadata,
  spec,
  status,
}: {
  metadata: ObjectMeta;
  spec: Pick<RevisionSpec, 'template'>;
  status?: { phase?: string; secretName?: string };
}): string[] => {
  const known = [spec.template.secretName, status?.secretName].filter((name) => name !== undefined);
  return [...new Set(known)].map((name) => `${metadata.namespace}/${name}`);
};

/** A build whose git host is away holds up nobody behind it in line. */
const buildState: IndexBy<RevisionResource> = ({ status }) => {
  if (status?.phase !== 'AWAITING_BUILD' && status?.phase !== 'BUILDING') return [];
  if (status.reason === 'GitHostAway') return ['away'];
  return [status.reason === 'BuildQueued' ? 'waiting' : 'building'];
};

const listUnroutedReasons: IndexBy<DeploymentResource> = ({ status }) => {
  const routed = status?.conditions?.find(({ type }) => type === ROUTED);
  return routed === undefined || routed.status === 'True' ? [] : [routed.reason];
};

const backupEnd: IndexBy<BackupResource> = ({ status }) => {
  if (!isBackupOver(status?.phase)) return ['open'];
  return status?.verifying === undefined ? [] : ['verifying'];
};

type CachedKinds = {
  [
    N in keyof typeof OPERATOR_KINDS as (typeof OPERATOR_KINDS)[N] extends { cached: string }
      ? N
      : never
  ]: (typeof OPERATOR_KINDS)[N];
};
type ObjectOf<R> = R extends { kind: Kind<infer T> } ? T : never;
export type Caches = { [N in keyof CachedKinds]: Cache<ObjectOf<CachedKinds[N]>> };

/** The indexes of caches beside those by which the children of a deployment or revision are found. */
const INDEXES: { [N in keyof Caches]?: Record<string, IndexBy<ObjectOf<CachedKinds[N]>>> } = {
  deployments: {
    [BY_NAME]: ({ metadata }) => [metadata.name],
    [BY_NAMESPACE]: ({ metadata }) => [metadata.namespace ?? ''],
    [BY_ID]: listDeploymentIds,
    [BY_SECRET]: listSecretKeys,
    [BY_ROUTED]: listUnroutedReasons,
  },
  backups: {
    [BY_DEPLOYMENT]: ({ metadata, spec }) => [`${metadata.namespace}/${spec.deployment}`],
    [BY_END]: backupEnd,
  },
  httpRoutes: { [BY_PLACE]: listRoutePlaces },
  ingresses: { [BY_PLACE]: listRoutePlaces },
  revisions: {
    [BY_DEPLOYMENT]: ({ metadata, spec }) => [`${metadata.namespace}/${spec.deployment}`],
    [BY_SECRET]: listSecretKeys,
    [BY_BUILD]: buildState,
  },
  // Owners are read from the list, so a Listener with another value in its place is set aside.
  listeners: { namespace: ({ spec }) => spec.namespaces.map(String) },
  tracingProjects: { [BY_NAME]: ({ spec }) => [spec.projectName] },
};

// An index gets only objects of its own row.
const findIndexes = (name: string): Record<string, IndexBy> | undefined =>
  (INDEXES as Partial<Record<string, Record<string, IndexBy>>>)[name];

/**
 * Nearly all of ten thousand deployments are at rest, so their objects are packed. The objects of each kind that
 * changed last stay unpacked: as many as some hundreds of new deployments have, some 40 MB at most for all kinds
 * together.
 */
const PACKED = { packed: true, recent: 1000 };
/** The operator itself makes the objects of these kinds, so no length of their spec is a fault. */
const OWN = { ...PACKED, specLimit: Infinity };

/** Creates the caches of a table. */
export function createCaches({
  buildNamespaces,
  table = OPERATOR_KINDS,
}: { buildNamespaces?: readonly string[]; table?: KindTable } = {}): Caches {
  const children = {
    [BY_DEPLOYMENT]: buildOwnerIndex(DEPLOYMENT, buildNamespaces),
    [BY_REVISION]: buildOwnerIndex(REVISION, buildNamespaces),
  };
  const createCache = ([name, row]: [string, KindRow]): [string, Cache] => {
    const indexes = { ...(row.child && children), ...findIndexes(name) };
    const packed = row.kind.apiVersion === API_VERSION ? PACKED : OWN;
    return [name, new Cache(indexes, row.cached === 'packed' ? packed : {})];
  };
  const cached = Object.entries(table).filter(([, row]) => row.cached !== undefined);
  // The API server holds the objects of a kind to its shape, which the row of their cache names.
  return Object.assign({} as Caches, Object.fromEntries(cached.map(createCache)));
}

/** Returns the caches by their names, whatever their objects. */
// Nobody who asks for a cache by a row adds objects to it, so that the shape of its objects does not matter.
const mapCachesByName = (caches: Caches): Partial<Record<string, Cache>> =>
  Object.fromEntries(Object.entries(caches) as [string, Cache][]);

/** Returns the cached rows of a table, each with its cache. */
export function listCachedRows(caches: Caches, table: KindTable): { row: KindRow; cache: Cache }[] {
  const known = mapCachesByName(caches);
  return Object.entries(table).flatMap(([name, row]) => {
    const cache = known[name];
    return cache === undefined ? [] : [{ row, cache }];
  });
}

/** Returns the caches of the objects that a deployment owns besides its revisions. */
export const listOwnedCaches = (caches: Caches, table: KindTable): Cache[] =>
  listCachedRows(caches, table).flatMap(({ row, cache }) =>
    row.child === 'deployment' ? [cache] : [],
  );

/** Returns the caches of routes, whatever their kind. */
export const listRouteCaches = ({ httpRoutes, ingresses }: Caches): Cache[] => [
  httpRoutes,
  ingresses,
];

/** Returns the kinds that reconcilers write, and the caches that keep the answers. Secrets are kept nowhere. */
export const listWrittenKinds = (caches: Caches, table: KindTable = OPERATOR_KINDS): Watched[] =>
  Object.entries(table).flatMap(([name, { kind, written }]) => {
    const cache = mapCachesByName(caches)[name];
    return written === true ? [{ kind, ...(cache && { cache }) }] : [];
  });
