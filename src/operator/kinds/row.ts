import type { OperatorConfig } from '../../config/platform/operator.ts';
import type { Kind, KubeObject } from '../../kube/kube.ts';
import type { RouteKind } from '../../schema/platform/spec/route-place.ts';
import { MANAGED_BY, OPERATOR } from '../../schema/platform/objects/labels.ts';

/** The objects of one watch: of a namespace or of all of them, with a label, or only the one of that name. */
export type WatchScope = { namespace: string | undefined; labelSelector?: string; only?: string };

/**
 * Where a right is granted: in each namespace that the operator works on, there for builds in stages only, there for
 * Secrets, there for routes of a kind, on the parents of routes, in its own namespace, there for kept ports, on the API
 * server's addresses, where BuildKit or other builds run, where credentials of git hosts are kept, or on nodes.
 */
export type RightPlace =
  | 'worked'
  | 'staged'
  | 'secrets'
  | RouteKind
  | 'parents'
  | 'own'
  | 'ports'
  | 'apiServer'
  | 'builds'
  | 'buildkit'
  | 'git'
  | 'nodes';
/** Permissions on a kind or a part of its objects in one place. With `only` they are on the object of this name. */
export type KindRight = {
  at: RightPlace;
  verbs: ('get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete')[];
  part?: 'status' | 'finalizers' | 'log';
  only?: string;
};

/** The operator's knowledge of a kind of objects. Caches, watches, wake-ups, deletion and rights follow from it. */
export type KindRow = {
  kind: Kind;
  /**
   * How its objects stay in memory. Packed ones are many and seldom read. Objects of a row without this are only
   * written, or read one at a time.
   */
  cached?: 'packed' | 'parsed';
  /** Returns the part of an object that is cached. */
  projection?: (object: KubeObject) => KubeObject;
  /** Returns which objects are watched. Cached kinds without it have a reader of their own. */
  scope?: (config: OperatorConfig) => WatchScope[];
  /** True if its CRD may be missing. The operator then works without it, and finds it once it is installed. */
  optional?: boolean;
  /** True if a deployment serves without its objects. One that can't be written then holds nothing else back. */
  dispensable?: boolean;
  /** Returns false if the installation has no objects of the kind. */
  isUsed?: (settings: OperatorConfig['settings']) => boolean;
  /**
   * Whose children its objects are. Their change wakes the deployment that an annotation names, and for children of a
   * revision this revision, too.
   */
  child?: 'deployment' | 'revision';
  /** Returns the part of a child's status that reconciles read. Other changes of the status wake nobody. */
  statusRead?: (object: KubeObject) => object | undefined;
  /** Returns true for a new child that has nothing to report yet. It wakes nobody. */
  isSilent?: (object: KubeObject) => boolean;
  /** True if reconciles write its objects. */
  written?: boolean;
  /**
   * When its objects are removed with their deployment: first, as agents are, or last, once the agents are gone. Those
   * that follow are removed by Kubernetes, and waited for.
   */
  removed?: 'first' | 'last' | 'follows';
  rights: KindRight[];
};

/** The kinds of an operator, by the names of their caches. */
export type KindTable = Readonly<Record<string, KindRow>>;

/** Returns all objects where the operator works: in some namespaces or, if none is named, in the whole cluster. */
export const buildWatchScopes = ({ namespaces }: OperatorConfig): WatchScope[] =>
  (namespaces.length === 0 ? [undefined] : namespaces).map((namespace) => ({ namespace }));

/** Returns the objects there that have this label. */
export const buildLabelScopes =
  (labelSelector: string) =>
  (config: OperatorConfig): WatchScope[] =>
    buildWatchScopes(config).map((scope) => ({ ...scope, labelSelector }));

/** Selects the objects that the operator made. */
export const MADE_HERE = `${MANAGED_BY}=${OPERATOR}`;
/** Returns these objects where the operator works. */
export const madeObjects = buildLabelScopes(MADE_HERE);

/** Returns all objects of the operator's own namespace. */
export const buildOwnNamespaceScope = ({ namespace }: OperatorConfig): WatchScope[] => [
  { namespace },
];
