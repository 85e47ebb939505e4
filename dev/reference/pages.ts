import { toStructuralSchema } from '../../src/schema/platform/resources/crd.ts';
import { KINDS, type CustomKind } from '../../src/schema/platform/resources/custom-kinds.ts';
import { API_VERSION } from '../../src/schema/platform/objects/api-group.ts';
import { CONDITIONS, PHASES, REASONS } from './meanings.ts';
import { COMMON, STATES } from './states.ts';

type Schema = {
  type?: string;
  format?: string;
  description?: string;
  enum?: string[];
  required?: string[];
  properties?: Record<string, Schema>;
  items?: Schema;
  additionalProperties?: Schema;
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  maxItems?: number;
  'x-kubernetes-validations'?: { rule: string; message: string }[];
};

/** Levels of fields on a page. Below them, containers repeat the documentation of Kubernetes. */
const MAX_DEPTH = 4;

/** Returns one page per kind and one on troubleshooting, by its file name below docs/reference. */
export function buildReferencePages(): Record<string, string> {
  const pages = Object.fromEntries(
    KINDS.map((kind) => [`${kind.singular}.md`, buildKindPage(kind)]),
  );
  return { ...pages, 'troubleshooting.md': buildTroubleshootingPage() };
}

function buildKindPage(kind: CustomKind): string {
  const spec = toStructuralSchema(kind.spec) as Schema;
  const rules = [...kind.rules, ...listRules(spec)];
  return [
    `# ${kind.kind}`,
    `\`${API_VERSION}\`, short name \`${kind.shortNames.join('`, `')}\`. Generated from src/schema; \`kubectl explain ${kind.singular}.${API_VERSION.split('/')[0]}\` says the same.`,
    `## spec\n\n${formatTable(spec)}`,
    rules.length === 0
      ? ''
      : `## Rules\n\nThe API server refuses an object that breaks one of them.\n\n${rules.map(({ message }) => `- ${message}`).join('\n')}`,
    kind.status === undefined
      ? ''
      : `## status\n\n${formatTable(toStructuralSchema(kind.status) as Schema)}`,
    kind.kind === 'Revision' ? `## Phases\n\n${formatPhaseTable()}` : '',
    kind.status === undefined ? '' : `## Conditions\n\n${formatConditionTable(kind.singular)}`,
    kind.status === undefined ? '' : `## Reasons\n\n${formatReasonTable(kind.singular)}`,
    `## Columns of \`kubectl get\`\n\n${kind.columns.map(({ name, priority }) => `${name}${priority === undefined ? '' : ' (wide)'}`).join(', ')}`,
  ]
    .filter((part) => part !== '')
    .join('\n\n')
    .concat('\n');
}

const formatTable = (schema: Schema): string =>
  `| Field | Type | Meaning |\n|---|---|---|\n${formatRows(schema, '', 1).join('\n')}`;

function formatRows(schema: Schema, prefix: string, depth: number): string[] {
  const properties = Object.entries(schema.properties ?? schema.items?.properties ?? {});
  const required = schema.required ?? schema.items?.required ?? [];
  return properties.flatMap(([name, field]) => {
    const path = `${prefix}${name}${field.type === 'array' && field.items?.properties !== undefined ? '[]' : ''}`;
    const own = `| \`${path}\`${required.includes(name) ? ' (required)' : ''} | ${formatType(field)} | ${field.description ?? ''} |`;
    return depth >= MAX_DEPTH ? [own] : [own, ...formatRows(field, `${path}.`, depth + 1)];
  });
}

function formatType(field: Schema): string {
  if (field.enum !== undefined) return field.enum.map((word) => `\`${word}\``).join(', ');
  if (field.type === 'array') return `list of ${field.items?.type ?? 'object'}`;
  if (field.additionalProperties?.type !== undefined)
    return `map to ${field.additionalProperties.type}`;
  const range = [field.minimum, field.maximum].some((bound) => bound !== undefined)
    ? ` ${field.minimum ?? ''}..${field.maximum ?? ''}`
    : '';
  return `${field.format ?? field.type ?? 'object'}${range}`;
}

const listRules = (schema: Schema): { message: string }[] => [
  ...(schema['x-kubernetes-validations'] ?? []),
  ...Object.values(schema.properties ?? {}).flatMap(listRules),
];

const formatPhaseTable = (): string =>
  `| Phase (REST: \`status\`) | When |\n|---|---|\n${Object.entries(PHASES)
    .map(([phase, when]) => `| \`${phase}\` | ${when} |`)
    .join('\n')}`;

const formatConditionTable = (kind: string): string =>
  `| Condition | True means |\n|---|---|\n${Object.entries(CONDITIONS[kind] ?? {})
    .map(([type, means]) => `| \`${type}\` | ${means} |`)
    .join('\n')}`;

const formatReasonTable = (kind: string): string =>
  `[Troubleshooting](troubleshooting.md) lists why a revision fails. Its deployment has the same reason. The others:\n\n| Reason | Means |\n|---|---|\n${Object.entries(
    { ...STATES[kind], ...COMMON },
  )
    .map(([reason, means]) => `| \`${reason}\` | ${means} |`)
    .join('\n')}`;

const buildTroubleshootingPage = (): string => `# Troubleshooting: error reasons

A failure has one reason. It is the same in \`status.reason\`, in the \`Ready\` condition, in an event and in the REST
answer (\`reason\`). A message goes with it and, if a pod failed, its last log lines (\`status.logTail\`, \`log_tail\`).

A Deployment whose columns stay **empty** has no reason, because no operator watches its namespace: apply it in one
that is watched (\`gx-agents\`), or add the namespace to \`watchNamespaces\` of the chart. \`kubectl apply\` prints a
warning there.

| Reason | Means | Do |
|---|---|---|
${Object.entries(REASONS)
  .map(([reason, { means, remedy }]) => `| \`${reason}\` | ${means} | ${remedy} |`)
  .join('\n')}
`;
