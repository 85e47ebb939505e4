/* The answers of a control plane to the pages that the pictures show: always the same ones, at always the same time. */

/** The time of all pictures. */
export const NOW = '2026-03-05T10:00:00Z';

const MINUTE = 60_000;
/** Returns the time so many minutes before that of the pictures. */
export const ago = (minutes: number): string =>
  new Date(Date.parse(NOW) - minutes * MINUTE).toISOString();

const uuid = (number: number): string =>
  `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;

export const SHOP = uuid(1);

const revision = (number: number, status: string, more: object = {}) => ({
  id: `${['aa', 'bb', 'cc', 'dd', 'ee'][number - 1]}${'0'.repeat(6)}-0000-4000-8000-00000000000${number}`,
  deployment_id: SHOP,
  number,
  created_at: ago(10 * (6 - number) ** 3),
  updated_at: ago(10 * (6 - number) ** 3 - 2),
  status,
  source: 'git',
  source_revision_config: {
    image_uri: null,
    repo_ref: 'main',
    repo_commit_sha: `${number}f3c9a2e77d04b1c8e5a6f0d2b9c8a7e6f5d4c3b2a1`.slice(0, 40),
  },
  reason: null,
  status_message: null,
  log_tail: null,
  image_digest: `sha256:${String(number).repeat(64)}`,
  build_seconds: 38 + number,
  builder_version: '0.1.0',
  ...more,
});

const FAILED = revision(5, 'DEPLOY_FAILED', {
  reason: 'CrashLooping',
  status_message:
    'The container agent ends again and again, the last time with exit code 1 after 2 seconds. Its pods are kept for a look, and revision 4 goes on answering.',
  log_tail:
    'Error: OPENAI_API_KEY is missing\n    at model (file:///agent/shop.ts:12:9)\n    at async buildGraph (file:///agent/shop.ts:31:3)',
});
const REVISIONS = [
  FAILED,
  revision(4, 'DEPLOYED'),
  revision(3, 'INTERRUPTED'),
  revision(2, 'DEPLOYED'),
  revision(1, 'BUILD_FAILED', {
    reason: 'BuildFailed',
    status_message: 'npm ci failed: package.json and package-lock.json differ.',
  }),
];
const [, SERVING] = REVISIONS;

const toSummary = ({ id, number, status, reason, created_at }: ReturnType<typeof revision>) => ({
  id,
  number,
  status,
  reason,
  created_at,
});

const ROW = {
  namespace: 'team-shop',
  version: '100',
  state: 'serving',
  reason: null,
  message: null,
  serving: true,
  suspended: false,
  status: 'READY',
  source: 'external_container',
  repo_url: null,
  repo_ref: null,
  repo_commit_sha: null,
  image_version: '1.4.0',
  url: null,
  queue: { wanted: 2, ready: 2 },
  interrupted_threads: 0,
  usage_today: null,
  asleep_since: null,
  next_due_at: null,
  created_at: ago(60 * 24 * 40),
};

const row = (number: number, name: string, more: object = {}) => {
  const latest = toSummary(revision(1, 'DEPLOYED'));
  return {
    ...ROW,
    id: uuid(number),
    name,
    image_uri: `registry.example/team/${name}:2.${number}.0`,
    latest_revision: latest,
    active_revision: latest,
    updated_at: ago(7 * number ** 2),
    ...more,
  };
};

/** Sums of calls of models on one day. */
const sums = (calls: number, cost: number | null) => ({
  calls,
  unreported_calls: 0,
  unpriced_calls: cost === null ? calls : 0,
  input_tokens: calls * 2140,
  cache_read_tokens: calls * 900,
  output_tokens: calls * 310,
  cost_usd: cost,
});

const shop = {
  ...row(1, 'shop'),
  state: 'failed',
  reason: FAILED.reason,
  message: FAILED.status_message,
  source: 'git',
  image_uri: null,
  repo_url: 'https://git.example.com/team/shop-agents',
  repo_ref: 'main',
  repo_commit_sha: FAILED.source_revision_config.repo_commit_sha,
  url: 'https://shop.agents.example.com',
  latest_revision: toSummary(FAILED),
  active_revision: SERVING === undefined ? null : toSummary(SERVING),
  interrupted_threads: 3,
  usage_today: sums(412, 12.4071),
};

const broken = (reason: string, message: string) => ({
  state: 'failed',
  serving: false,
  reason,
  message,
  active_revision: null,
  latest_revision: { ...toSummary(revision(1, 'DEPLOY_FAILED')), reason },
  queue: { wanted: 2, ready: 0 },
});
const asleep = { state: 'asleep', queue: { wanted: 0, ready: 0 } };

const ROWS = [
  shop,
  row(2, 'support', {
    interrupted_threads: 4,
    usage_today: sums(1290, 3.2),
    url: 'https://support.agents.example.com',
  }),
  row(3, 'research', { queue: { wanted: 6, ready: 5 } }),
  row(4, 'invoices', { ...asleep, asleep_since: ago(300), next_due_at: '2026-03-05T18:00:00Z' }),
  row(5, 'summaries', broken('ImagePullFailed', 'There is no such image: summaries:2.5.0.')),
  row(6, 'billing'),
  row(7, 'legal-review', { namespace: 'team-legal' }),
  row(8, 'tour-guide', { namespace: 'team-travel', queue: { wanted: 1, ready: 1 } }),
  row(9, 'translator', { ...asleep, namespace: 'team-travel', asleep_since: ago(900) }),
  row(10, 'onboarding', {
    state: 'rolling_out',
    latest_revision: toSummary(revision(2, 'DEPLOYING')),
    queue: { wanted: 2, ready: 1 },
  }),
  row(11, 'night-shift', { state: 'hibernated', serving: false, queue: { wanted: 0, ready: 0 } }),
];

const condition = (type: string, status: string, reason: string, message: string) => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: ago(90),
});

const detailsOf = (summary: object) => ({
  ...summary,
  conditions: [
    condition('Serving', 'True', 'Serving', 'Revision 4 answers requests.'),
    condition(
      'NewestRevision',
      'False',
      'CrashLooping',
      FAILED.status_message as unknown as string,
    ),
    condition('Database', 'True', 'Ready', 'The database answers.'),
    condition('Backup', 'True', 'Completed', 'The last backup was verified by a restore.'),
  ],
  lifecycle: {
    hibernate: null,
    suspend: null,
    sleep: { after_seconds: 900, database: false },
    queue_replicas: null,
  },
  database: {
    external: false,
    certificate_until: '2026-05-04T10:00:00Z',
    storage_gi: 10,
    storage_class: null,
  },
  key: { previous_until: null },
  branch: {
    ref: 'main',
    commit: '5f3c9a2e77d0',
    push_path: '/v1/integrations/git/7/push',
    pushed: { commit: '5f3c9a2e77d0', at: ago(11) },
    unmatched_push: null,
  },
});

const pod = (name: string, component: string, more: object = {}) => ({
  name: `shop-${name}`,
  component,
  revision_id: SERVING?.id ?? null,
  phase: 'Running',
  ready: true,
  restarts: 0,
  reason: null,
  message: null,
  node: 'node-2',
  created_at: ago(600),
  ...more,
});
const PODS = [
  pod('5-api-7d9f4c6b5-x2k8w', 'api', {
    revision_id: FAILED.id,
    ready: false,
    restarts: 6,
    reason: 'CrashLoopBackOff',
    message:
      'back-off 5m0s restarting failed container=agent pod=shop-5-api-7d9f4c6b5-x2k8w_team-shop(4c1b)',
    created_at: ago(9),
  }),
  pod('4-api-6c8f9d7b4-q7m2p', 'api'),
  pod('4-queue-5b7d8c6a9-h4n6t', 'queue', { node: 'node-1' }),
  pod('4-queue-5b7d8c6a9-r9s3v', 'queue', { node: 'node-3' }),
  pod('postgres-0', 'database', { revision_id: null, created_at: ago(60 * 24 * 12) }),
];
const event = (minutes: number, reason: string, note: string, more: object = {}) => ({
  type: 'Normal',
  reason,
  note,
  object: { kind: 'Pod', name: 'shop-5-api-7d9f4c6b5-x2k8w' },
  count: 1,
  last_seen_at: ago(minutes),
  ...more,
});
const EVENTS = [
  event(
    1,
    'BackOff',
    'Back-off restarting failed container agent in pod shop-5-api-7d9f4c6b5-x2k8w',
    {
      type: 'Warning',
      count: 24,
    },
  ),
  event(3, 'Started', 'Started container agent', { count: 6 }),
  event(9, 'Pulled', 'Successfully pulled image "registry.example/team/shop@sha256:5555" in 2.1s'),
  event(9, 'Scheduled', 'Successfully assigned team-shop/shop-5-api-7d9f4c6b5-x2k8w to node-2'),
];

const logLine = (second: number, level: string, message: string, fields: object = {}) => ({
  timestamp: new Date(Date.parse(NOW) - 60_000 + second * 1000).toISOString(),
  level,
  message: JSON.stringify({ level: level.toLowerCase(), msg: message, ...fields }),
});
/** The lines of the log of the agents. */
export const LOG = [
  logLine(0, 'INFO', 'agent server starting', { version: '1.4.0', graphs: 2 }),
  logLine(1, 'INFO', 'graph loaded', { graph: 'agent', took_ms: 412 }),
  logLine(2, 'DEBUG', 'pool opened', { connections: 4 }),
  logLine(2, 'INFO', 'ready', { port: 8000 }),
  ...Array.from({ length: 9 }, (_, at) => [
    logLine(4 + 5 * at, 'INFO', 'run started', { run_id: `01a4${at}f`, assistant: 'agent' }),
    logLine(5 + 5 * at, 'INFO', 'run ended', { run_id: `01a4${at}f`, status: 'success', ms: 840 }),
  ]).flat(),
  logLine(50, 'WARNING', 'a model answered slowly', { model: 'gpt-5', took_ms: 8120 }),
  logLine(51, 'ERROR', 'run failed', {
    run_id: '01a49f',
    node: 'pay',
    err: { type: 'RangeError', message: 'The amount 0 is no amount.' },
  }),
];

const BACKUPS = [240, 1680, 3120].map((minutes, at) => ({
  name: `shop-2026030${5 - at}`,
  status: 'Completed',
  reason: null,
  message: null,
  method: 'dump',
  target: 'primary',
  from: ago(minutes),
  until: ago(minutes - 2),
  size_bytes: 18_400_000 - at * 300_000,
  key_ids: [],
  expires_at: null,
  verified_at: at === 0 ? null : ago(minutes - 30),
  requested_at: null,
}));

const full = (one: ReturnType<typeof revision>) => ({
  ...one,
  made_by: 'ann (key 3f1c)',
  rollback_of: null,
  push: null,
  resource_spec: { cpu: one.number === 5 ? 2 : 1, memory_mb: one.number === 5 ? 4096 : 2048 },
  secrets: [
    { name: 'DATABASE_TOKEN', digest: 'a1b2c3d4' },
    ...(one.number === 5 ? [] : [{ name: 'OPENAI_API_KEY', digest: 'e5f6a7b8' }]),
  ],
  started_at: one.created_at,
  built_at: one.created_at,
  ended_at: new Date(Date.parse(one.created_at) + (38 + one.number) * 1000 + 24_000).toISOString(),
  server_version: '1.4.0',
  guard: 'key',
  conditions: [],
});

const YAML = `apiVersion: gx.dev/v1alpha1
kind: Deployment
metadata:
  name: shop
  namespace: team-shop
spec:
  source: git
  template:
    sourceRevisionConfig:
      repoUrl: https://git.example.com/team/shop-agents
      repoRef: main
  sleep:
    afterSeconds: 900
status:
  phase: READY
  activeRevision: shop-00004
`;

const usageOf = (number: number, name: string, today: object | null, yesterday: object | null) => ({
  tenant_id: uuid(0),
  deployment_id: uuid(number),
  name,
  namespace: 'team-shop',
  today,
  yesterday,
});
const USAGE = [
  usageOf(1, 'shop', sums(412, 12.4071), sums(980, 31.9)),
  usageOf(2, 'support', sums(1290, 3.2), sums(1710, 4.4)),
  usageOf(9, 'translator', { ...sums(36, null), unreported_calls: 36 }, null),
];

/** Returns the answer to a request for a path below `v2`; undefined where there is none. */
export function answerOfPlatform(path: string, accept: string): unknown {
  if (path === 'deployments') return { resources: ROWS, offset: ROWS.length, total: ROWS.length };
  if (path === 'usage') return { day: NOW.slice(0, 10), resources: USAGE, total: USAGE.length };
  const [, id = '', rest = ''] = /^deployments\/([^/]+)\/?(.*)$/.exec(path) ?? [];
  const summary = ROWS.find((one) => one.id === id);
  if (summary === undefined) return undefined;
  const details = detailsOf(summary);
  const known = REVISIONS.find((one) => rest === `revisions/${one.id}`);
  if (known !== undefined) return full(known);
  const answers: Record<string, unknown> = {
    '': {
      ...details,
      secrets: ['DATABASE_TOKEN', 'OPENAI_API_KEY', 'SMTP_PASSWORD'].map((name) => ({
        name,
        value: 'hidden',
      })),
    },
    state: details,
    revisions: { resources: REVISIONS },
    resource: accept.includes('yaml') ? YAML : { metadata: {} },
    pods: { resources: PODS },
    'kube-events': { resources: EVENTS, complete: true },
    backups: { resources: BACKUPS },
    key: { api_key: 'gxa_3f1c' },
  };
  return answers[rest];
}
