import { Type, type Static } from 'typebox';
import { DateTime, StringEnum } from './types.ts';

/** metav1.Condition. `lastTransitionTime` moves only when `status` flips. */
export const Condition = Type.Object({
  type: Type.String({ maxLength: 316 }),
  status: StringEnum(['True', 'False', 'Unknown']),
  reason: Type.String({ maxLength: 1024, description: 'CamelCase word for machines; stable.' }),
  message: Type.String({ maxLength: 32_768 }),
  lastTransitionTime: DateTime('When status last flipped.'),
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
 * Stands, as True, while reconciling is paused. The other conditions are then as old as their own observedGeneration
 * says.
 */
export const SUSPENDED = 'Suspended';
export const SERVING = 'Serving';
/** Reason of Ready, Serving and DatabaseReady while a deployment has no pods because its spec says so. */
export const HIBERNATED = 'Hibernated';
export const SCALED_TO_ZERO = 'ScaledToZero';
export const DATABASE_READY = 'DatabaseReady';
export const ROLLED_OUT = 'RolledOut';
export const BUILD_SUCCEEDED = 'BuildSucceeded';
/** There, and False, while the database's volume has another size than is asked for. */
export const VOLUME_GROWN = 'VolumeGrown';
/** There, and False, while the managed database's volume is four fifths full, or more. */
export const VOLUME_HAS_ROOM = 'VolumeHasRoom';
/** There, and False, while the database's password is being changed. */
export const PASSWORD_ROTATED = 'PasswordRotated';
/** There, and False, while a database made when its agents were superusers is being given the roles of today. */
export const ROLES_SEPARATED = 'RolesSeparated';
/** Fields that are accepted and stored, but whose function is not built yet. */
export const FIELDS_WITHOUT_EFFECT = 'FieldsWithoutEffect';
/** The deployed agent asks nobody for credentials; it is reachable inside the cluster only. */
export const UNAUTHENTICATED = 'Unauthenticated';
