export type Column = {
  name: string;
  type: 'string' | 'integer' | 'date';
  jsonPath: string;
  priority?: number;
  description?: string;
};

const age: Column = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' };
const buildConditionPath = (type: string, field: string) =>
  `.status.conditions[?(@.type=="${type}")].${field}`;

/** The columns that `kubectl get` shows of each kind. Those of priority 1 and above need `-o wide`. */
export const COLUMNS = {
  Deployment: [
    { name: 'Ready', type: 'string', jsonPath: buildConditionPath('Ready', 'status') },
    { name: 'Reason', type: 'string', jsonPath: buildConditionPath('Ready', 'reason') },
    { name: 'Serving', type: 'string', jsonPath: buildConditionPath('Serving', 'status') },
    { name: 'Active', type: 'string', jsonPath: '.status.activeRevision' },
    { name: 'URL', type: 'string', jsonPath: '.status.url' },
    {
      name: 'Waiting',
      type: 'integer',
      jsonPath: '.status.interruptedThreads',
      description: 'Threads that wait for a person to answer.',
    },
    {
      name: 'USD today',
      type: 'string',
      jsonPath: '.status.usageToday.costUsd',
      description: 'The price of the calls of models of the day, of UTC, as the agents report it.',
    },
    { name: 'Latest', type: 'string', jsonPath: '.status.latestRevision', priority: 1 },
    {
      name: 'Image',
      type: 'string',
      jsonPath: '.spec.template.sourceRevisionConfig.imageUri',
      priority: 1,
    },
    {
      name: 'Ref',
      type: 'string',
      jsonPath: '.spec.template.sourceRevisionConfig.repoRef',
      priority: 1,
    },
    { name: 'Version', type: 'string', jsonPath: '.status.serverVersion', priority: 1 },
    {
      name: 'Database',
      type: 'string',
      jsonPath: buildConditionPath('DatabaseReady', 'reason'),
      priority: 1,
    },
    {
      name: 'Status',
      type: 'string',
      jsonPath: '.status.phase',
      priority: 1,
      description: 'The status in REST answers.',
    },
    { name: 'Message', type: 'string', jsonPath: '.status.message', priority: 1 },
    age,
  ],
  Revision: [
    { name: 'Deployment', type: 'string', jsonPath: '.spec.deployment' },
    { name: 'Ready', type: 'string', jsonPath: buildConditionPath('Ready', 'status') },
    { name: 'Status', type: 'string', jsonPath: '.status.phase' },
    { name: 'Reason', type: 'string', jsonPath: '.status.reason' },
    { name: 'Repeats', type: 'string', jsonPath: '.spec.rollbackOf', priority: 1 },
    {
      name: 'Image',
      type: 'string',
      jsonPath: '.spec.template.sourceRevisionConfig.imageUri',
      priority: 1,
    },
    {
      name: 'Built',
      type: 'string',
      jsonPath: '.status.image',
      priority: 1,
      description: 'Image built from the repository, or repeated by a rollback.',
    },
    { name: 'Message', type: 'string', jsonPath: '.status.message', priority: 1 },
    age,
  ],
  Backup: [
    { name: 'Deployment', type: 'string', jsonPath: '.spec.deployment' },
    { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
    { name: 'Method', type: 'string', jsonPath: '.spec.method' },
    { name: 'Size', type: 'string', jsonPath: '.status.size' },
    { name: 'From', type: 'string', jsonPath: '.status.from' },
    { name: 'Until', type: 'string', jsonPath: '.status.until', priority: 1 },
    { name: 'Expires', type: 'string', jsonPath: '.status.expires' },
    { name: 'Verified', type: 'string', jsonPath: '.status.verified' },
    { name: 'Target', type: 'string', jsonPath: '.spec.target', priority: 1 },
    { name: 'Reason', type: 'string', jsonPath: '.status.reason' },
    { name: 'Message', type: 'string', jsonPath: '.status.message', priority: 1 },
    age,
  ],
  Listener: [
    { name: 'Ready', type: 'string', jsonPath: buildConditionPath('Ready', 'status') },
    { name: 'Reason', type: 'string', jsonPath: buildConditionPath('Ready', 'reason') },
    { name: 'Compute', type: 'string', jsonPath: '.spec.computeId' },
    { name: 'Namespaces', type: 'string', jsonPath: '.spec.namespaces' },
    age,
  ],
  GitIntegration: [
    { name: 'Kind', type: 'string', jsonPath: '.spec.kind' },
    { name: 'Host', type: 'string', jsonPath: '.spec.host' },
    { name: 'Tenant', type: 'string', jsonPath: '.spec.tenantId', priority: 1 },
    { name: 'Repositories', type: 'string', jsonPath: '.spec.repositories', priority: 1 },
    age,
  ],
  TracingProject: [{ name: 'Project', type: 'string', jsonPath: '.spec.projectName' }, age],
} satisfies Record<string, Column[]>;
