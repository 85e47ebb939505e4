import type { ObjectMeta } from '../schema/platform/objects/object-meta.ts';

/** Any Kubernetes object as plain JSON. No field is dropped or renamed. */
export type KubeObject = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  [field: string]: unknown;
};

/** A kind as the API server addresses it; `T` is the shape of its objects. */
export type Kind<T extends KubeObject = KubeObject> = {
  apiVersion: string;
  kind: string;
  plural: string;
  namespaced: boolean;
  readonly shape?: T;
};

/** `data` holds base64; `stringData` is plain text that the API server turns into `data`. */
export type SecretObject = KubeObject & {
  type?: string;
  immutable?: boolean;
  data?: Record<string, string>;
  stringData?: Record<string, string>;
};
/** `binaryData` holds base64. */
export type ConfigMapObject = KubeObject & {
  immutable?: boolean;
  data?: Record<string, string>;
  binaryData?: Record<string, string>;
};
export type LeaseObject = KubeObject & {
  spec: {
    holderIdentity?: string;
    leaseDurationSeconds?: number;
    acquireTime?: string;
    renewTime?: string;
    leaseTransitions?: number;
  };
};

export type ServiceAccountObject = KubeObject & { imagePullSecrets?: { name?: string }[] };

export type Ref = { namespace?: string | undefined; name: string };
export type JsonPatch = (
  | { op: 'add' | 'replace' | 'test'; path: string; value: unknown }
  | { op: 'remove'; path: string }
)[];
export type Page<T> = { items: T[]; resourceVersion: string; continue?: string };
export type ListOptions = {
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
  limit?: number;
  continue?: string;
  resourceVersion?: string;
};
export type WatchEvent<T> =
  | { type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK'; object: T }
  | { type: 'ERROR'; object: { code: number; message: string } };

/**
 * Which lines to read: the last `tailLines`, or the first `limitBytes`. `sinceTime` is an RFC 3339 time; lines of its
 * whole second come again.
 */
export type PodLogOptions = {
  container: string;
  tailLines?: number;
  limitBytes?: number;
  previous?: boolean;
  timestamps?: boolean;
  sinceTime?: string;
  /** The log is requested once, even if the kubelet does not answer. For callers that can do without the log. */
  once?: boolean;
};

/**
 * The one door to the API server. It speaks plain JSON. It throws the errors of `errors.ts`: 404 NotFound, 409
 * Conflict, 422 and 400 `KubeRefused`, 403 Forbidden, and Unavailable for every failure that may pass. Every call takes
 * a signal and has a time limit of its own.
 */
export type Kube = {
  get<T extends KubeObject>(kind: Kind<T>, ref: Ref, signal?: AbortSignal): Promise<T>;
  find<T extends KubeObject>(kind: Kind<T>, ref: Ref, signal?: AbortSignal): Promise<T | undefined>;
  /** Returns one page, of fewer objects than the limit if they are large; `all` follows `continue`. */
  list<T extends KubeObject>(
    kind: Kind<T>,
    options?: ListOptions,
    signal?: AbortSignal,
  ): Promise<Page<T>>;
  listAll<T extends KubeObject>(
    kind: Kind<T>,
    options?: ListOptions,
    signal?: AbortSignal,
  ): Promise<T[]>;
  create<T extends KubeObject>(
    kind: Kind<T>,
    object: T,
    options?: { dryRun?: boolean },
    signal?: AbortSignal,
  ): Promise<T>;
  /**
   * Applies on the server with this client's field manager, which owns the fields that the object names. Throws
   * `Conflict` when the object names a version that the live one does not have.
   */
  apply<T extends KubeObject>(kind: Kind<T>, object: T, signal?: AbortSignal): Promise<T>;
  patchJson<T extends KubeObject>(
    kind: Kind<T>,
    ref: Ref,
    patch: JsonPatch,
    options?: { dryRun?: boolean },
    signal?: AbortSignal,
  ): Promise<T>;
  /** Replaces the fields of `status`, by merge patch on the status sub-resource. A null removes a field. */
  patchStatus<T extends KubeObject>(
    kind: Kind<T>,
    ref: Ref,
    status: object,
    signal?: AbortSignal,
  ): Promise<T>;
  replace<T extends KubeObject>(kind: Kind<T>, object: T, signal?: AbortSignal): Promise<T>;
  /**
   * Deletes in the background by default. Throws `Conflict` when a precondition does not hold, as for another object of
   * the same name. Returns false when there was none.
   */
  delete(
    kind: Kind,
    ref: Ref,
    options?: {
      uid?: string;
      resourceVersion?: string;
      propagation?: 'Background' | 'Foreground' | 'Orphan';
    },
    signal?: AbortSignal,
  ): Promise<boolean>;
  /**
   * Opens one watch from a resource version, with bookmarks. It ends when the server ends it (`timeoutSeconds`) or the
   * signal is aborted.
   */
  watch<T extends KubeObject>(
    kind: Kind<T>,
    options: ListOptions & { resourceVersion: string; timeoutSeconds: number },
    signal: AbortSignal,
  ): AsyncIterable<WatchEvent<T>>;
  /**
   * Reads the last lines of a container's log; `previous` is the log before its last restart. `timestamps` puts an RFC
   * 3339 time before each line.
   */
  readPodLog(ref: Ref, options: PodLogOptions, signal?: AbortSignal): Promise<string>;
  close(): Promise<void>;
};

/** A request to the API server, as metrics count it. */
export type RequestSample = { method: string; code: string; host: string; seconds: number };

/** The client, with the parts that only its owner uses. */
export type ConnectedKube = Kube & {
  addRequestListener(listener: (sample: RequestSample) => void): void;
  /**
   * Returns the same client for a process that may write only while `holds`. Afterwards no write leaves it, not even a
   * repetition of an earlier one.
   */
  buildFenced(holds: () => boolean): Kube;
  /** Returns the published description of a group and version, such as `apps/v1`; undefined where it can't be read. */
  openApi(groupVersion: string, signal?: AbortSignal): Promise<OpenApi | undefined>;
};

/** A client whose requests may be counted. */
export type CountedKube = Kube & Partial<ConnectedKube>;

/** The part of an OpenAPI document that its readers here need. */
export type OpenApi = {
  components?: { schemas?: Record<string, { description?: string } | undefined> };
};
