import { GROUP } from './api-group.ts';
import { toLabelValue } from '../../names.ts';

/**
 * Keys of labels, annotations and finalizers. A name that may be too long for a label's value is kept whole in an
 * annotation with the same key.
 */
export const DEPLOYMENT = `${GROUP}/deployment`;
export const REVISION = `${GROUP}/revision`;
export const COMPONENT = `${GROUP}/component`;
export const TENANT = `${GROUP}/tenant`;
export const MANAGED_BY = 'app.kubernetes.io/managed-by';
export const PART_OF = 'app.kubernetes.io/part-of';
export const OPERATOR = 'gx-operator';

/** Kubernetes' labels on the slices of a Service: whose they are, and who writes them. */
export const OF_SERVICE = 'kubernetes.io/service-name';
export const WRITTEN_BY = 'endpointslice.kubernetes.io/managed-by';
/** Kubernetes' label on a namespace: the level of pod security that its API server enforces there. */
export const POD_SECURITY = 'pod-security.kubernetes.io/enforce';
/** Label on a namespace whose pods reach the agents of all namespaces, such as an ingress controller. */
export const GATEWAY = `${GROUP}/gateway`;
/** Label on a namespace whose pods read the metrics of all agents, and reach nothing else of them: a Prometheus. */
export const METRICS_READER = `${GROUP}/metrics`;
/** Annotation on an agent's pod: the port of its metrics. A pod of a former release has them at the port of its API. */
export const METRICS_PORT = `${GROUP}/metrics-port`;
/** Label on a Secret that was made for one change of a deployment's secrets. */
export const SECRETS_OF = `${GROUP}/secrets-of`;
/** Label on a Secret that was made for a connection to a git host: the name of its GitIntegration. */
export const GIT_INTEGRATION = `${GROUP}/git-integration`;
/** Label on a ServiceAccount, `true`: REST users may run agents under it. Its namespace's owner sets it. */
export const FOR_AGENTS = `${GROUP}/for-agents`;
/** Label on a Secret that holds a hashed API key. */
export const API_KEY = `${GROUP}/api-key`;

/** Annotation on a Revision: stop it while it is not in a last phase. */
export const INTERRUPT = `${GROUP}/interrupt`;
/** Annotation on a Revision: its work goes on with the one that serves now. */
export const RELEASE = `${GROUP}/release`;
/** Annotation on a Revision that is tried out: `promote`, `abort`, or `share=25`. */
export const ROLLOUT = `${GROUP}/rollout`;
/** Label and annotation on objects that build a revision: the namespace of the agents that it is for. */
export const AGENTS_NAMESPACE = `${GROUP}/agents-namespace`;
/** Label on objects that build a revision: the revision's uid. */
export const REVISION_UID = `${GROUP}/revision-uid`;
/** Annotation on a Deployment: a push event came, for the commit that it names first. Its value changes with each. */
export const PUSHED_AT = `${GROUP}/pushed-at`;
/** Annotation on a Deployment: the id that its git host has for the repository, which stays when that is renamed. */
export const REPOSITORY_ID = `${GROUP}/repository-id`;
/** Annotation on a GitIntegration: its last push event that was for no deployment, in JSON. */
export const UNMATCHED_PUSH = `${GROUP}/unmatched-push`;
/** Finalizer of a Revision whose build, in another namespace, is removed with it. */
export const BUILD_FINALIZER = `${GROUP}/build`;
/** Annotation on a Deployment: the sleep that is to end, as `asleepSince` of its status says it. */
export const WAKE = `${GROUP}/wake`;
/** Annotation on a Deployment: reconcile now; its value is echoed in status. */
export const RECONCILE_NOW = `${GROUP}/reconcile-requested-at`;
/**
 * Annotation on a Deployment that tells which REST request made it: the hash of its Idempotency-Key, a dot, and the
 * hash of its body without secret values.
 */
export const MADE_BY = `${GROUP}/made-by-request`;
/**
 * Annotation on objects that REST writes: the id and name of the API key, or the subject of the token, that asked last.
 */
export const REQUESTED_BY = `${GROUP}/requested-by`;
/** Annotation on a Deployment: the node port of its Service, where Services are node ports. */
export const NODE_PORT = `${GROUP}/node-port`;
/**
 * Annotation on a Deployment, at its creation: take over the database that an earlier deployment with this uid left
 * behind.
 */
export const DATABASE_OF = `${GROUP}/database-of`;
/** Annotation on an agent's pod: the Secret, its key and its state from which it got the database's address. */
export const DATABASE_ADDRESS = `${GROUP}/database-address`;
/** Annotation on a Secret with a password of a database: its number, from 0. */
export const PASSWORD_NUMBER = `${GROUP}/password-number`;
/** Annotation on such a Secret: the `spec.database.passwordRequestedAt` that it was made for. */
export const PASSWORD_REQUESTED = `${GROUP}/password-requested-at`;
/** Annotation on a Secret that replaces the deleted Secret of a password. */
export const PASSWORD_LOST = `${GROUP}/password-lost`;
/** Annotation on a pod that changes a password in a database: the Job that it belongs to. */
export const PASSWORD_TASK = `${GROUP}/password-task`;
/** Annotation on a pod that makes a backup: the Backup that it makes. */
export const BACKUP = `${GROUP}/backup`;
/** Annotation on a Deployment: the `requestedAt` of the backup that a clone waits for, and that is made fast for it. */
export const AWAITED_BACKUP = `${GROUP}/awaited-backup`;
/**
 * Annotation on a Deployment: a new value restarts its database with the image and settings of today's installation.
 */
export const RENEW_DATABASE = `${GROUP}/renew-database`;
/** Annotation on a Deployment, `others`: the platform makes no autoscaler of its api pods; somebody else does. */
export const API_SCALING = `${GROUP}/api-scaling`;
/** Annotation on a volume claim: the keys of the labels and annotations that its deployment's spec has given it. */
export const CLAIM_WORDS = `${GROUP}/given`;
/** Annotation on a volume claim that is not the first of its data: the uid of the deployment that it belongs to. */
export const DATA_OF = `${GROUP}/data-of`;
/** Annotation on a volume claim whose data belongs to the user that the namespace gives, and not to the image's. */
export const DATA_USER = `${GROUP}/data-user`;
/** Annotation on a volume claim whose data was replaced: when it may be deleted. */
export const SET_ASIDE = `${GROUP}/set-aside-until`;
/** Annotation on a pod that restores into a living deployment, or checks whether that can be: the request. */
export const REPLACES = `${GROUP}/replaces`;
/** Annotation on a workload: the number of pods that it began with, if that is more than its spec asks for. */
export const BEGAN_WITH = `${GROUP}/began-with`;
/** Annotation on a Deployment: a new value makes a new key. On the key's Secret: the value that it was made for. */
export const ROTATE_KEY = `${GROUP}/rotate-key`;
/** Annotation on the Secret of a key: until when the key before it opens the agents, too. */
export const PREVIOUS_UNTIL = `${GROUP}/previous-until`;
/** Finalizer of a Deployment, whose children are first removed as its policy says. */
export const FINALIZER = `${GROUP}/children`;

export type Component =
  | 'api'
  | 'queue'
  | 'database'
  | 'tls'
  | 'agent'
  | 'password'
  | 'build'
  | 'key'
  | 'store'
  | 'backup'
  | 'restore'
  | 'verify';
/** Components whose pods use the managed database of their deployment. */
export const DATABASE_USERS: readonly Component[] = [
  'api',
  'queue',
  'password',
  'backup',
  'restore',
];

/** Returns the labels that select the pods of one component of a deployment. */
export const buildPodSelector = (
  deployment: string,
  component: Component,
  revision?: string,
): Record<string, string> => ({
  [DEPLOYMENT]: toLabelValue(deployment),
  [COMPONENT]: component,
  ...(revision !== undefined && { [REVISION]: toLabelValue(revision) }),
});

export const buildManagedLabels = (
  deployment: string,
  component: Component,
  revision?: string,
): Record<string, string> => ({
  ...buildPodSelector(deployment, component, revision),
  [MANAGED_BY]: OPERATOR,
  [PART_OF]: 'gx-platform',
});

/** The annotation of the operator's Lease with the version of the operator that led last. */
export const OPERATOR_VERSION = 'gx.dev/operator-version';
