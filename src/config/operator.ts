import { hostname } from 'node:os';
import { trustedProxies, addressBlocks, checkedBlocks } from './address-blocks.ts';
import { backups } from './backups.ts';
import { builder } from './builder.ts';
import { DEFAULT_TENANT_ID } from './control-plane.ts';
import { SettingsReader, type Env } from './env.ts';
import { gitHosts, gitIntegrations } from './git-integrations.ts';
import { readProxies } from './proxies.ts';
import { objectKeys } from './object-keys.ts';
import { databaseTurns } from './database-turns.ts';
import { PINS } from '../schema/platform/pins.ts';
import { prometheusUrl } from './prometheus.ts';
import { placements } from './placement.ts';
import { routes, type Routes } from './routes.ts';
import { checkedUrl, tracingSettings } from './tracing.ts';
import { isIP } from 'node:net';
import { isComposite } from '../schema/json.ts';

/** Sizes that apply where a resource spec leaves them open. CPU is in cores, memory in Mi, storage in Gi. */
export type Profile = {
  cpu: number;
  memoryMb: number;
  replicas: number;
  /** Replicas of deployments from git of type prod, which name no sizes themselves: the least, and the most. */
  prod: { least: number; most: number };
  database: { cpu: number; memoryMb: number; storageGi: number; maxConnections: number };
};

/** The installation's choices that decide which objects are made. */
export type OperatorSettings = ReturnType<typeof settings> & Routes;

export type OperatorConfig = ReturnType<typeof operatorConfig>;

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

const PROFILES: Record<'small' | 'standard', Omit<Profile, 'prod'>> = {
  small: { cpu: 0.1, memoryMb: 256, replicas: 1, database: { cpu: 0.1, memoryMb: 256, storageGi: 10, maxConnections: 100 } },
  standard: { cpu: 1, memoryMb: 1024, replicas: 1, database: { cpu: 1, memoryMb: 2048, storageGi: 10, maxConnections: 200 } },
};

/** Reads the settings of the operator. Throws one `StartError` with every problem. */
export function operatorConfig(env: Env) {
  const read = new SettingsReader(env);
  const namespaces = read.words(['GX_WATCH_NAMESPACES']);
  const config = {
    host: read.text(['GX_SERVER_HOST'], '0.0.0.0'),
    port: read.integer(['GX_HEALTH_PORT'], 8081, { min: 0, max: 65_535 }),
    logLevel: read.oneOf(['GX_LOG_LEVEL', 'LOG_LEVEL'], 'info', LOG_LEVELS),
    /** Where this process, its Lease and the Listeners live. */
    namespace: ownNamespace(read),
    /** The namespaces that the operator works on. Empty means all of the cluster. */
    namespaces,
    leaseName: read.text(['GX_LEASE_NAME'], 'gx-operator'),
    identity: read.text(['GX_IDENTITY', 'POD_NAME'], `${hostname()}-${process.pid}`),
    workers: read.integer(['GX_WORKERS'], 10, { min: 1, max: 100 }),
    /** Where spans of its own reconciles go; undefined where they are not traced. */
    tracing: tracingSettings(read, 'gx-operator'),
    settings: { ...settings(read), ...routes(read, namespaces) },
  };
  read.finish();
  return config;
}

function settings(read: SettingsReader) {
  const storageClass = read.optional(['GX_STORAGE_CLASS']);
  const nodeHost = read.optional(['GX_NODE_HOST']);
  const prometheus = prometheusUrl(read);
  const controlPlaneUrl = read.optional(['GX_CONTROL_PLANE_URL']);
  if (controlPlaneUrl !== undefined && !/^https?:\/\/[^/]/.test(controlPlaneUrl))
    read.problem('GX_CONTROL_PLANE_URL must be an http or https address');
  return {
    databaseImage: read.text(['GX_POSTGRES_IMAGE'], 'gx-postgres:17'),
    /** The image of key-value stores. */
    storeImage: read.text(['GX_VALKEY_IMAGE'], 'gx-valkey:8'),
    imagePullPolicy: spelled(read.oneOf(['GX_IMAGE_PULL_POLICY'], 'ifnotpresent', ['always', 'ifnotpresent', 'never']), [
      'Always',
      'IfNotPresent',
      'Never',
    ] as const),
    ...allPods(read),
    profile: profile(read),
    exposeAs: spelled(read.oneOf(['GX_EXPOSE_AS'], 'clusterip', ['clusterip', 'nodeport']), ['ClusterIP', 'NodePort'] as const),
    agentNetwork: agentNetwork(read),
    /** Addresses and blocks of proxies whose `X-Forwarded-*` count at agents. */
    trustedProxies: trustedProxies(read),
    /** The host at which node ports are reached, for the URL in status. */
    ...(nodeHost !== undefined && { nodeHost }),
    ...(storageClass !== undefined && { storageClass }),
    /**
     * Where agents send traces of their runs: the collector, and the Secret in their namespace whose key `headers` is
     * sent along.
     */
    ...otlp(read),
    /** The builder of deployments of source git. Without it they fail, and their status says so. */
    ...builder(read),
    /** Connections to git hosts that the installation sets up itself. */
    gitIntegrations: gitIntegrations(read),
    /** Hosts of git that may have private addresses. */
    gitHosts: gitHosts(read),
    /** The proxies through which others are asked: by the operator, by builds and by backups. */
    proxies: readProxies(read),
    /** Seconds between two looks at a followed branch, where an integration names none. 0: it is not looked at. */
    pollSeconds: read.integer(['GX_BUILD_POLL_SECONDS'], 0, { min: 0, max: 86_400 }),
    clusterDomain: read.text(['GX_CLUSTER_DOMAIN'], 'cluster.local'),
    defaultTenantId: read.text(['GX_DEFAULT_TENANT_ID'], DEFAULT_TENANT_ID).toLowerCase(),
    /** The installation's namespaces for agents. They are the default tenant's unless a label says otherwise. */
    agentNamespaces: read.words(['GX_AGENT_NAMESPACES']),
    progressDeadlineSeconds: read.integer(['GX_PROGRESS_DEADLINE_SECONDS'], 600, { min: 10, max: 86_400 }),
    revisionHistoryLimit: read.integer(['GX_REVISION_HISTORY_LIMIT'], 20, { min: 1, max: 1000 }),
    /** Days after its end that a revision is kept at most. */
    revisionHistoryDays: read.integer(['GX_REVISION_HISTORY_DAYS'], 90, { min: 1, max: 36_500 }),
    deletionPolicy: spelled(read.oneOf(['GX_DELETION_POLICY'], 'retain', ['retain', 'delete']), ['Retain', 'Delete'] as const),
    /** Seconds that pulls of an image may fail before the revision has failed. */
    imagePullPatienceSeconds: read.integer(['GX_IMAGE_PULL_PATIENCE_SECONDS'], 90, { min: 1, max: 86_400 }),
    /** Hours for which the key before a new one opens agents, too. */
    keyOverlapHours: read.integer(['GX_KEY_OVERLAP_HOURS'], 24, { min: 0, max: 8760 }),
    /** Where agents find the control plane, which checks the keys of their tenant. */
    ...(controlPlaneUrl !== undefined && { controlPlaneUrl }),
    ...ownPods(read),
    /** The work that keeps to its revision, where a deployment does not say it. */
    pin: spelled(read.oneOf(['GX_ROLLOUT_PIN'], 'run', ['run', 'thread', 'none']), PINS),
    /** The Prometheus server that checks of rollouts ask. */
    ...(prometheus !== undefined && { prometheusUrl: prometheus }),
    /** Seconds for which fewer queue pods must have been enough before there are fewer. */
    queueScaleDownSeconds: read.integer(['GX_QUEUE_SCALE_DOWN_SECONDS'], 300, { min: 1, max: 86_400 }),
    /** Seconds of rest after which a deployment sleeps that may, and whether its database sleeps, too. */
    sleepAfterSeconds: read.integer(['GX_SLEEP_AFTER_SECONDS'], 900, { min: 5, max: 2_592_000 }),
    sleepDatabases: read.flag(['GX_SLEEP_DATABASES'], false),
    /** When databases restart whose deployments ask for it. */
    databases: databaseTurns(read),
    /** Seconds that a server gets to finish its runs. Its pod gets some more. */
    drainSeconds: read.integer(['GX_DRAIN_SECONDS'], 180, { min: 0, max: 86_400 }),
    /** Where backups go, and how many are made at once. */
    backups: backups(read),
    /** Keys of labels and annotations that go to one kind of object alone. */
    objectKeys: objectKeys(read),
  };
}

const allPods = (read: SettingsReader) => ({
  /** Secrets with which every pod pulls its images, besides those that a deployment names. */
  imagePullSecrets: read.words(['GX_IMAGE_PULL_SECRETS']),
  /** Whether pods name the user and group of their image. Otherwise their namespace gives ids, as on OpenShift. */
  fixedIds: read.flag(['GX_FIXED_IDS'], true),
  placement: placements(read),
});

const ownNamespace = (read: SettingsReader): string => read.text(['GX_NAMESPACE', 'POD_NAMESPACE'], 'default');

/** Reads which other processes of the platform there are. They stand in the operator's own namespace. */
function ownPods(read: SettingsReader) {
  const [service, namespace] = [read.optional(['GX_GATEWAY_SERVICE']), ownNamespace(read)];
  return {
    /** The Service of the gateway, to which agents report their work. Without it nothing scales by work, or sleeps. */
    ...(service !== undefined && { gateway: { service, namespace } }),
    /** Where the console's pods are, which reach agents. Without it there is none. */
    ...(read.flag(['GX_CONSOLE'], false) && { console: { namespace } }),
  };
}

function prodReplicas(read: SettingsReader): Profile['prod'] {
  const least = read.integer(['GX_PROD_REPLICAS'], 2, { min: 1, max: 1000 });
  return { least, most: Math.max(least, read.integer(['GX_PROD_MAX_REPLICAS'], 4, { min: 1, max: 1000 })) };
}

function otlp(read: SettingsReader): { otlp?: { endpoint: string; headersSecret?: string } } {
  const endpoint = read.optional(['GX_OTLP_ENDPOINT']);
  const headersSecret = read.optional(['GX_OTLP_HEADERS_SECRET']);
  if (endpoint === undefined) return {};
  checkedUrl(read, endpoint, 'GX_OTLP_ENDPOINT');
  return { otlp: { endpoint, ...(headersSecret !== undefined && { headersSecret }) } };
}

/** Reads a named profile. Each of its sizes may also be set on its own. */
function profile(read: SettingsReader): Profile {
  const base = PROFILES[read.oneOf(['GX_PROFILE'], 'standard', ['small', 'standard'])];
  return {
    cpu: milli(read, 'GX_DEFAULT_CPU_MILLI', base.cpu),
    memoryMb: read.integer(['GX_DEFAULT_MEMORY_MB'], base.memoryMb, { min: 1, max: 4_194_304 }),
    replicas: read.integer(['GX_DEFAULT_REPLICAS'], base.replicas, { min: 0, max: 1000 }),
    prod: prodReplicas(read),
    database: {
      ...base.database,
      storageGi: read.integer(['GX_DEFAULT_DB_STORAGE_GI'], base.database.storageGi, { min: 1, max: 65_536 }),
      maxConnections: read.integer(['GX_DEFAULT_DB_MAX_CONNECTIONS'], base.database.maxConnections, { min: 20, max: 10_000 }),
    },
  };
}

const milli = (read: SettingsReader, name: string, fallback: number): number =>
  read.integer([name], Math.round(fallback * 1000), { min: 10, max: 512_000 }) / 1000;

/** Returns the word as Kubernetes spells it. */
const spelled = <const T extends string>(word: string, spellings: readonly [T, ...T[]]): T =>
  spellings.find((spelling) => spelling.toLowerCase() === word) ?? spellings[0];

/** Callers and targets of agents, where a deployment names none itself. */
export type AgentNetwork = {
  /** Unset: open where agents have node ports, because their clients come from anywhere. */
  ingress?: 'Namespace' | 'Open';
  egress: 'Limited' | 'Open';
  /** Peers, as a NetworkPolicy writes them, that reach all agents. */
  gateways: object[];
  /** Address blocks that agents do not reach. */
  blocked: string[];
  /** Addresses of the API server. None: the operator finds them in the cluster. */
  apiServer: string[];
};

/** Where clouds keep credentials of their machines: the link-local addresses, and those of Amazon in IPv6. */
const METADATA = ['169.254.0.0/16', 'fd00:ec2::/32'];

/** Reads the settings of the agents' network. */
function agentNetwork(read: SettingsReader): AgentNetwork {
  const ingress = read.oneOf(['GX_AGENT_INGRESS'], 'usual', ['namespace', 'open', 'usual']);
  const blocked = read.words(['GX_AGENT_BLOCKED']);
  return {
    ...(ingress !== 'usual' && { ingress: ingress === 'open' ? 'Open' : 'Namespace' }),
    egress: read.oneOf(['GX_AGENT_EGRESS'], 'limited', ['limited', 'open']) === 'open' ? 'Open' : 'Limited',
    gateways: gateways(read),
    blocked: [...checkedBlocks(read, 'GX_AGENT_BLOCKED', blocked.length === 0 ? METADATA : blocked), ...serviceOfApiServer(read)],
    apiServer: addressBlocks(read, 'GX_API_SERVER_ADDRESSES'),
  };
}

/** Some networks look at the address of a Service before it becomes that of a pod. It may also be a name. */
function serviceOfApiServer(read: SettingsReader): string[] {
  const host = read.optional(['KUBERNETES_SERVICE_HOST']) ?? '';
  return isIP(host) === 0 ? [] : [host];
}

function gateways(read: SettingsReader): object[] {
  const value = read.json(['GX_AGENT_GATEWAYS']) ?? [];
  const isPeer = (peer: unknown): peer is object =>
    isComposite(peer) && Object.keys(peer).length > 0 && Object.keys(peer).every((key) => PEER.includes(key));
  if (Array.isArray(value) && value.every(isPeer)) return value;
  read.problem(`GX_AGENT_GATEWAYS must be a list of peers in JSON, each with ${PEER.join(', ')}`);
  return [];
}

/** The fields of a NetworkPolicy's peer. */
const PEER = ['podSelector', 'namespaceSelector', 'ipBlock'];
