import { hostname } from 'node:os';
import { readTrustedProxies, readAddressBlocks, checkAddressBlocks } from '../address-blocks.ts';
import { readBackupSettings } from './backups.ts';
import { readBuilderSettings } from './builder.ts';
import { DEFAULT_TENANT_ID } from './control-plane.ts';
import { SettingsReader, type Env } from '../env.ts';
import { readGitHosts, readGitIntegrations } from './git-integrations.ts';
import { readProxies } from '../proxies.ts';
import { readObjectKeys } from './object-keys.ts';
import { readTenantBudgetSettings } from './tenant-budgets.ts';
import { readDatabaseTurns } from './database-turns.ts';
import { PINS } from '../../schema/platform/rollout/pins.ts';
import { readPrometheusUrl } from './prometheus.ts';
import { readPlacements } from './placement.ts';
import { readRoutes, type Routes } from './routes.ts';
import { checkCollectorUrl, readTracingSettings } from '../tracing.ts';
import { isIP } from 'node:net';
import { isComposite } from '../../schema/json.ts';

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
export type OperatorSettings = ReturnType<typeof readSettings> &
  Routes & {
    /** Returns the Secrets with which pods of a ServiceAccount pull images. The operator that runs has it. */
    findAccountSecrets?: (namespace: string, account: string) => readonly { name: string }[];
  };

export type OperatorConfig = ReturnType<typeof readOperatorConfig>;

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

const PROFILES: Record<'small' | 'standard', Omit<Profile, 'prod'>> = {
  small: {
    cpu: 0.1,
    memoryMb: 256,
    replicas: 1,
    database: { cpu: 0.1, memoryMb: 256, storageGi: 10, maxConnections: 100 },
  },
  standard: {
    cpu: 1,
    memoryMb: 1024,
    replicas: 1,
    database: { cpu: 1, memoryMb: 2048, storageGi: 10, maxConnections: 200 },
  },
};

/** Reads the settings of the operator. Throws one `StartError` with every problem. */
export function readOperatorConfig(env: Env) {
  const read = new SettingsReader(env);
  const namespaces = read.readWords(['GX_WATCH_NAMESPACES']);
  const config = {
    host: read.readText(['GX_SERVER_HOST'], '0.0.0.0'),
    port: read.readInteger(['GX_HEALTH_PORT'], 8081, { min: 0, max: 65_535 }),
    logLevel: read.readOneOf(['GX_LOG_LEVEL', 'LOG_LEVEL'], 'info', LOG_LEVELS),
    /** Where this process, its Lease and the Listeners live. */
    namespace: readOperatorNamespace(read),
    /** The namespaces that the operator works on. Empty means all of the cluster. */
    namespaces,
    leaseName: read.readText(['GX_LEASE_NAME'], 'gx-operator'),
    identity: read.readText(['GX_IDENTITY', 'POD_NAME'], `${hostname()}-${process.pid}`),
    workers: read.readInteger(['GX_WORKERS'], 10, { min: 1, max: 100 }),
    /** Where spans of its own reconciles go; undefined where they are not traced. */
    tracing: readTracingSettings(read, 'gx-operator'),
    settings: { ...readSettings(read), ...readRoutes(read, namespaces) },
  };
  read.finish();
  return config;
}

function readSettings(read: SettingsReader) {
  const storageClass = read.readOptional(['GX_STORAGE_CLASS']);
  const nodeHost = read.readOptional(['GX_NODE_HOST']);
  const prometheus = readPrometheusUrl(read);
  const controlPlaneUrl = read.readOptional(['GX_CONTROL_PLANE_URL']);
  if (controlPlaneUrl !== undefined && !/^https?:\/\/[^/]/.test(controlPlaneUrl))
    read.addProblem('GX_CONTROL_PLANE_URL must be an http or https address');
  return {
    databaseImage: read.readText(['GX_POSTGRES_IMAGE'], 'gx-postgres:17'),
    storeImage: read.readText(['GX_VALKEY_IMAGE'], 'gx-valkey:8'),
    imagePullPolicy: findSpelling(
      read.readOneOf(['GX_IMAGE_PULL_POLICY'], 'ifnotpresent', ['always', 'ifnotpresent', 'never']),
      ['Always', 'IfNotPresent', 'Never'] as const,
    ),
    ...readPodDefaults(read),
    profile: readProfile(read),
    exposeAs: findSpelling(
      read.readOneOf(['GX_EXPOSE_AS'], 'clusterip', ['clusterip', 'nodeport']),
      ['ClusterIP', 'NodePort'] as const,
    ),
    agentNetwork: readAgentNetwork(read),
    /** Addresses and blocks of proxies whose `X-Forwarded-*` count at agents. */
    trustedProxies: readTrustedProxies(read),
    /** The host at which node ports are reached, for the URL in status. */
    ...(nodeHost !== undefined && { nodeHost }),
    ...(storageClass !== undefined && { storageClass }),
    /**
     * Where agents send traces of their runs: the collector, and the Secret in their namespace whose key `headers` is
     * sent along.
     */
    ...readOtlp(read),
    /** The builder of deployments of source git. Without it they fail, and their status says so. */
    ...readBuilderSettings(read),
    /** Connections to git hosts that the installation sets up itself. */
    gitIntegrations: readGitIntegrations(read),
    /** Hosts of git that may have private addresses. */
    gitHosts: readGitHosts(read),
    /** The proxies through which others are asked: by the operator, by builds and by backups. */
    proxies: readProxies(read),
    /** Seconds between two looks at a followed branch, where an integration names none. 0: it is not looked at. */
    pollSeconds: read.readInteger(['GX_BUILD_POLL_SECONDS'], 0, { min: 0, max: 86_400 }),
    clusterDomain: read.readText(['GX_CLUSTER_DOMAIN'], 'cluster.local'),
    defaultTenantId: read.readText(['GX_DEFAULT_TENANT_ID'], DEFAULT_TENANT_ID).toLowerCase(),
    /** The installation's namespaces for agents. They are the default tenant's unless a label says otherwise. */
    agentNamespaces: read.readWords(['GX_AGENT_NAMESPACES']),
    progressDeadlineSeconds: read.readInteger(['GX_PROGRESS_DEADLINE_SECONDS'], 600, {
      min: 10,
      max: 86_400,
    }),
    revisionHistoryLimit: read.readInteger(['GX_REVISION_HISTORY_LIMIT'], 20, {
      min: 1,
      max: 1000,
    }),
    /** Days after its end that a revision is kept at most. */
    revisionHistoryDays: read.readInteger(['GX_REVISION_HISTORY_DAYS'], 90, {
      min: 1,
      max: 36_500,
    }),
    deletionPolicy: findSpelling(
      read.readOneOf(['GX_DELETION_POLICY'], 'retain', ['retain', 'delete']),
      ['Retain', 'Delete'] as const,
    ),
    /** Seconds that pulls of an image may fail before the revision has failed. */
    imagePullPatienceSeconds: read.readInteger(['GX_IMAGE_PULL_PATIENCE_SECONDS'], 90, {
      min: 1,
      max: 86_400,
    }),
    /** Hours for which the key before a new one opens agents, too. */
    keyOverlapHours: read.readInteger(['GX_KEY_OVERLAP_HOURS'], 24, { min: 0, max: 8760 }),
    /** Where agents find the control plane, which checks the keys of their tenant. */
    ...(controlPlaneUrl !== undefined && { controlPlaneUrl }),
    ...readPlatformPods(read),
    /** The work that keeps to its revision, where a deployment does not say it. */
    pin: findSpelling(read.readOneOf(['GX_ROLLOUT_PIN'], 'run', ['run', 'thread', 'none']), PINS),
    /** The Prometheus server that checks of rollouts ask. */
    ...(prometheus !== undefined && { prometheusUrl: prometheus }),
    /** Seconds for which fewer queue pods must have been enough before there are fewer. */
    queueScaleDownSeconds: read.readInteger(['GX_QUEUE_SCALE_DOWN_SECONDS'], 300, {
      min: 1,
      max: 86_400,
    }),
    /** Seconds of rest after which a deployment sleeps that may, and whether its database sleeps, too. */
    sleepAfterSeconds: read.readInteger(['GX_SLEEP_AFTER_SECONDS'], 900, {
      min: 5,
      max: 2_592_000,
    }),
    sleepDatabases: read.readFlag(['GX_SLEEP_DATABASES'], false),
    /** The budgets that deployments of a tenant share. */
    tenantBudgets: readTenantBudgetSettings(read),
    /** When databases restart whose deployments ask for it. */
    databases: readDatabaseTurns(read),
    /** Seconds that a server gets to finish its runs. Its pod gets some more. */
    drainSeconds: read.readInteger(['GX_DRAIN_SECONDS'], 180, { min: 0, max: 86_400 }),
    /** Where backups go, and how many are made at once. */
    backups: readBackupSettings(read),
    /** Keys of labels and annotations that go to one kind of object alone. */
    objectKeys: readObjectKeys(read),
  };
}

const readPodDefaults = (read: SettingsReader) => ({
  /** Secrets with which every pod pulls its images, besides those that a deployment names. */
  imagePullSecrets: read.readWords(['GX_IMAGE_PULL_SECRETS']),
  /** Whether pods name the user and group of their image. Otherwise their namespace gives ids, as on OpenShift. */
  fixedIds: read.readFlag(['GX_FIXED_IDS'], true),
  placement: readPlacements(read),
  /** The kind of processors that the platform's images are for, by Kubernetes' name. Undefined: any node takes them. */
  imageArchitecture: read.readOptional(['GX_IMAGE_ARCHITECTURE']),
});

const readOperatorNamespace = (read: SettingsReader): string =>
  read.readText(['GX_NAMESPACE', 'POD_NAMESPACE'], 'default');

/** Reads which other processes of the platform there are. They stand in the operator's own namespace. */
function readPlatformPods(read: SettingsReader) {
  const [service, namespace] = [
    read.readOptional(['GX_GATEWAY_SERVICE']),
    readOperatorNamespace(read),
  ];
  return {
    /** The Service of the gateway, to which agents report their work. Without it nothing scales by work, or sleeps. */
    ...(service !== undefined && { gateway: { service, namespace } }),
    /** Where the console's pods are, which reach agents. Without it there is none. */
    ...(read.readFlag(['GX_CONSOLE'], false) && { console: { namespace } }),
  };
}

function readProdReplicas(read: SettingsReader): Profile['prod'] {
  const least = read.readInteger(['GX_PROD_REPLICAS'], 2, { min: 1, max: 1000 });
  return {
    least,
    most: Math.max(least, read.readInteger(['GX_PROD_MAX_REPLICAS'], 4, { min: 1, max: 1000 })),
  };
}

function readOtlp(read: SettingsReader): { otlp?: { endpoint: string; headersSecret?: string } } {
  const endpoint = read.readOptional(['GX_OTLP_ENDPOINT']);
  const headersSecret = read.readOptional(['GX_OTLP_HEADERS_SECRET']);
  if (endpoint === undefined) return {};
  checkCollectorUrl(read, endpoint, 'GX_OTLP_ENDPOINT');
  return { otlp: { endpoint, ...(headersSecret !== undefined && { headersSecret }) } };
}

/** Reads a named profile. Each of its sizes may also be set on its own. */
function readProfile(read: SettingsReader): Profile {
  const base = PROFILES[read.readOneOf(['GX_PROFILE'], 'standard', ['small', 'standard'])];
  return {
    cpu: readCores(read, 'GX_DEFAULT_CPU_MILLI', base.cpu),
    memoryMb: read.readInteger(['GX_DEFAULT_MEMORY_MB'], base.memoryMb, { min: 1, max: 4_194_304 }),
    replicas: read.readInteger(['GX_DEFAULT_REPLICAS'], base.replicas, { min: 0, max: 1000 }),
    prod: readProdReplicas(read),
    database: {
      ...base.database,
      storageGi: read.readInteger(['GX_DEFAULT_DB_STORAGE_GI'], base.database.storageGi, {
        min: 1,
        max: 65_536,
      }),
      maxConnections: read.readInteger(
        ['GX_DEFAULT_DB_MAX_CONNECTIONS'],
        base.database.maxConnections,
        { min: 20, max: 10_000 },
      ),
    },
  };
}

const readCores = (read: SettingsReader, name: string, fallback: number): number =>
  read.readInteger([name], Math.round(fallback * 1000), { min: 10, max: 512_000 }) / 1000;

/** Returns the word as Kubernetes spells it. */
const findSpelling = <const T extends string>(word: string, spellings: readonly [T, ...T[]]): T =>
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

function readAgentNetwork(read: SettingsReader): AgentNetwork {
  const ingress = read.readOneOf(['GX_AGENT_INGRESS'], 'usual', ['namespace', 'open', 'usual']);
  const blocked = read.readWords(['GX_AGENT_BLOCKED']);
  return {
    ...(ingress !== 'usual' && { ingress: ingress === 'open' ? 'Open' : 'Namespace' }),
    egress:
      read.readOneOf(['GX_AGENT_EGRESS'], 'limited', ['limited', 'open']) === 'open'
        ? 'Open'
        : 'Limited',
    gateways: readGateways(read),
    blocked: [
      ...checkAddressBlocks(read, 'GX_AGENT_BLOCKED', blocked.length === 0 ? METADATA : blocked),
      ...readApiServerAddress(read),
    ],
    apiServer: readAddressBlocks(read, 'GX_API_SERVER_ADDRESSES'),
  };
}

/** Some networks look at the address of a Service before it becomes that of a pod. It may also be a name. */
function readApiServerAddress(read: SettingsReader): string[] {
  const host = read.readOptional(['KUBERNETES_SERVICE_HOST']) ?? '';
  return isIP(host) === 0 ? [] : [host];
}

function readGateways(read: SettingsReader): object[] {
  const value = read.readJson(['GX_AGENT_GATEWAYS']) ?? [];
  const isPeer = (peer: unknown): peer is object =>
    isComposite(peer) &&
    Object.keys(peer).length > 0 &&
    Object.keys(peer).every((key) => PEER.includes(key));
  if (Array.isArray(value) && value.every(isPeer)) return value;
  read.addProblem(
    `GX_AGENT_GATEWAYS must be a list of peers in JSON, each with ${PEER.join(', ')}`,
  );
  return [];
}

/** The fields of a NetworkPolicy's peer. */
const PEER = ['podSelector', 'namespaceSelector', 'ipBlock'];
