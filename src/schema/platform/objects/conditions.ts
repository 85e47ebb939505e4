import { Type, type Static } from 'typebox';
import { buildDateTimeSchema, buildEnumSchema } from '../../types.ts';

/** metav1.Condition. `lastTransitionTime` moves only when `status` flips. */
export const Condition = Type.Object({
  type: Type.String({ maxLength: 316 }),
  status: buildEnumSchema(['True', 'False', 'Unknown']),
  reason: Type.String({
    maxLength: 1024,
    description: 'Machine-readable reason in CamelCase; stable.',
  }),
  message: Type.String({ maxLength: 32_768 }),
  lastTransitionTime: buildDateTimeSchema('When the status last changed.'),
  observedGeneration: Type.Optional(Type.Integer({ minimum: 0 })),
});
export type Condition = Static<typeof Condition>;

export const Conditions = Type.Array(Condition, {
  maxItems: 32,
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['type'],
});

/** Condition types. Reconciling and Stalled are there only while true (kstatus). */
export const READY = 'Ready';
export const RECONCILING = 'Reconciling';
export const STALLED = 'Stalled';
/**
 * True while reconciling is paused, else absent. The other conditions are then as old as their own observedGeneration.
 */
export const SUSPENDED = 'Suspended';
export const SERVING = 'Serving';
/** The reason of Ready, Serving and DatabaseReady while a deployment has no pods because its spec says so. */
export const HIBERNATED = 'Hibernated';
export const SCALED_TO_ZERO = 'ScaledToZero';
export const DATABASE_READY = 'DatabaseReady';
export const ROLLED_OUT = 'RolledOut';
export const BUILD_SUCCEEDED = 'BuildSucceeded';
/** False while the size of the database's volume differs from the requested one, else absent. */
export const VOLUME_GROWN = 'VolumeGrown';
/** False while the managed database's volume is at least four fifths full, else absent. */
export const VOLUME_HAS_ROOM = 'VolumeHasRoom';
/** False while the database's password is being changed, else absent. */
export const PASSWORD_ROTATED = 'PasswordRotated';
/** False while the database waits to restart, as its deployment asks, else absent. */
export const DATABASE_RENEWED = 'DatabaseRenewed';
/** True while an older deployment of the tenant has the same name, and so the same tracing project; else absent. */
export const TRACING_PROJECT_SHARED = 'TracingProjectShared';
/** Whether the number of api pods follows their load; absent where it is fixed. */
export const API_SCALED = 'ApiScaled';
/** Whether the key-value store of streams takes connections; absent where none is asked for. */
export const STORE_READY = 'StoreReady';
/** False while the branch that a deployment follows can't be looked at, else absent. */
export const FOLLOWS_BRANCH = 'FollowsBranch';
/** Names fields that are accepted and stored but have no effect yet; or says that no gateway is there to report to. */
export const FIELDS_WITHOUT_EFFECT = 'FieldsWithoutEffect';
/** True while the agents that serve ask for no credentials, else absent. */
export const UNAUTHENTICATED = 'Unauthenticated';
/** The reason of Unauthenticated while the agents are open because their deployment asks for that. */
export const ASKED_OPEN = 'AskedFor';
/** True while the agents that serve have a token of their service account, else absent. */
export const TOKEN_MOUNTED = 'TokenMounted';
/** True while the deployment's namespace takes pods of any kind, else absent. */
export const POD_SECURITY_OPEN = 'PodSecurityOpen';
/** True while it has no pods because nobody needs it, and wakes by itself. Absent unless it may sleep. */
export const ASLEEP = 'Asleep';
/** Whether as many queue pods are ready as are asked for, where their number follows the work or an outsider. */
export const QUEUE_SCALED = 'QueueScaled';
/**
 * True while replaced revisions keep runs or threads, else False with the last that ended. Absent before the first. Of
 * a Revision: True while it keeps some, else absent.
 */
export const DRAINING = 'Draining';
/** Whether there is a backup as new as the schedule asks for. Absent where none is asked for. */
export const BACKED_UP = 'BackedUp';
/** Whether the database has the backup that its deployment begins with. Absent where none is asked for. */
export const RESTORED = 'Restored';
/** Whether the deployment is reached from outside by its route. Absent where it has none. */
export const ROUTED = 'Routed';
/** The reasons of Routed that end by others than the deployment itself. */
export const ROUTE_KIND_MISSING = 'RouteKindMissing';
export const HOST_TAKEN = 'HostTaken';
/** True while a deployment has a route, and no proxy is known to be admitted to its agents; else absent. */
export const PROXY_NOT_ADMITTED = 'ProxyNotAdmitted';
