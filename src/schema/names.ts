import { hash } from 'node:crypto';

/*
 * Every name of a created object is computed here from the deployment's full name, so that two processes arrive at the
 * same one. A child's name also stands in labels (63 characters) and, for a StatefulSet, in a label with an eleven-
 * character suffix (52).
 */

const LABEL_MAX = 63;
const CHILD_MAX = 52;
const HASH_LENGTH = 8;

const hashText = (text: string): string => hash('sha256', text).slice(0, HASH_LENGTH);

/** Returns `stem-suffix`, or if that is too long, a shortened stem with a hash of the whole. */
function limitName(stem: string, suffix: string, max: number): string {
  const whole = suffix === '' ? stem : `${stem}-${suffix}`;
  if (whole.length <= max) return whole;
  const tail = [hashText(stem), suffix].filter((part) => part !== '').join('-');
  return `${stem.slice(0, max - tail.length - 1).replace(/-+$/, '')}-${tail}`;
}

/** Returns a label value that stands for a name of any length. */
export const toLabelValue = (name: string): string => limitName(name, '', LABEL_MAX);

/** Returns `chat-00007` for generation 7, and `chat-00007-2` for the second push within it. Both only grow. */
export const buildRevisionName = (deployment: string, generation: number, push?: number): string =>
  `${deployment}-${String(generation).padStart(5, '0')}${push === undefined ? '' : `-${push}`}`;

/** The container of an agent's pods that runs the agent server. */
export const AGENT_CONTAINER = 'agent';
/** The ports of an agent's pods: of its API, and of its metrics. A pod's other containers can't have them. */
export const AGENT_PORTS = { http: 8000, metrics: 8001 } as const;
/** The name of the second, by which the chart's monitor finds it. */
export const METRICS_PORT_NAME = 'gx-metrics';
/** The containers of a build in their order; the last is no init container. */
export const BUILD_STAGES = ['clone', 'restore', 'build', 'push'] as const;

/** The key of a ConfigMap with the log of a build: lines of text, gzipped. */
export const BUILD_LOG_KEY = 'log.gz';

export const names = {
  service: (deployment: string): string => limitName(deployment, 'agent', CHILD_MAX),
  /** The route from outside, and the Secret of its certificate where an issuer makes one. */
  route: (deployment: string): string => limitName(deployment, 'route', CHILD_MAX),
  routeTls: (deployment: string): string => limitName(deployment, 'route-tls', CHILD_MAX),
  /** Leads to the api pods alone, also while the other one leads to the gateway. */
  directService: (deployment: string): string => limitName(deployment, 'direct', CHILD_MAX),
  gatewaySlice: (deployment: string, family: string): string =>
    limitName(deployment, `gateway-${family.toLowerCase()}`, CHILD_MAX),
  /** Leads to the api pods of the revision that is tried out. */
  candidateService: (deployment: string): string => limitName(deployment, 'candidate', CHILD_MAX),
  database: (deployment: string): string => limitName(deployment, 'db', CHILD_MAX),
  /**
   * The credential and the volume outlive a deployment. Their names contain the deployment's uid, so that a later one
   * of the same name never finds them by accident.
   */
  databaseSecret: (deployment: string, uid: string, number = 0): string =>
    limitName(deployment, `db-${hashText(uid)}${number === 0 ? '' : `-${number}`}`, CHILD_MAX),
  databaseAdmin: (deployment: string, uid: string): string =>
    limitName(deployment, `db-${hashText(uid)}-admin`, CHILD_MAX),
  /** This name goes without the uid, because a certificate can be made again. */
  databaseTls: (deployment: string): string => limitName(deployment, 'db-tls', CHILD_MAX),
  databaseAuthority: (deployment: string): string => limitName(deployment, 'db-ca', CHILD_MAX),
  passwordJob: (deployment: string, task: string, number: number): string =>
    limitName(deployment, `db-${task}-${number}`, CHILD_MAX),
  /** A backup, and the Job that makes it. */
  backup: (deployment: string, backup: string): string => limitName(deployment, backup, CHILD_MAX),
  restore: (deployment: string): string => limitName(deployment, 'restore', CHILD_MAX),
  /** The Job that looks whether a backup can be restored. */
  restoreCheck: (deployment: string): string => limitName(deployment, 'restore-check', CHILD_MAX),
  verify: (deployment: string): string => limitName(deployment, 'verify', CHILD_MAX),
  /** The Secret by which a database's log is taken, or its volume filled. */
  archive: (deployment: string): string => limitName(deployment, 'db-archive', CHILD_MAX),
  databaseVolume: (uid: string): string => `data-${hashText(uid)}`,
  databasePolicy: (deployment: string): string => limitName(deployment, 'db', CHILD_MAX),
  /** The policies of the pods of Jobs: for their database, and for the stores of backups. */
  databaseJobsPolicy: (deployment: string): string => limitName(deployment, 'db-jobs', CHILD_MAX),
  storesPolicy: (deployment: string): string => limitName(deployment, 'backups', CHILD_MAX),
  /** The key-value store, its Service and its policy. */
  store: (deployment: string): string => limitName(deployment, 'store', CHILD_MAX),
  storeSecret: (deployment: string): string => limitName(deployment, 'store', CHILD_MAX),
  /** The Secret with the key that opens the agents. */
  agentKey: (deployment: string): string => limitName(deployment, 'key', CHILD_MAX),
  agentPolicy: (deployment: string): string => limitName(deployment, 'agent', CHILD_MAX),
  agentBudget: (deployment: string): string => limitName(deployment, 'agent', CHILD_MAX),
  apiAutoscaler: (deployment: string): string => limitName(deployment, 'api', CHILD_MAX),
  databaseBudget: (deployment: string): string => limitName(deployment, 'db', CHILD_MAX),
  apiWorkload: (revision: string): string => limitName(revision, 'api', CHILD_MAX),
  queueWorkload: (revision: string): string => limitName(revision, 'queue', CHILD_MAX),
  /** The Job of a build, in the namespace of all builds, where revisions of all namespaces meet. */
  stagedBuild: (revision: string, uid: string): string =>
    limitName(revision, `build-${hashText(uid)}`, CHILD_MAX),
  buildLog: (revision: string): string => limitName(revision, 'build-log', CHILD_MAX),
  /**
   * The immutable Secret of one change. It is named by a nonce, because the same values asked for twice are two
   * changes.
   */
  secrets: (deployment: string, nonce: string): string =>
    limitName(deployment, `env-${hashText(nonce)}`, CHILD_MAX),
  /** A revision's own immutable copy of a Secret that its user may change. */
  secretCopy: (revision: string): string => limitName(revision, 'env', CHILD_MAX),
  tracingProject: (tenantId: string, project: string): string =>
    limitName(project, hashText(`${tenantId}/${project}`), LABEL_MAX),
};
