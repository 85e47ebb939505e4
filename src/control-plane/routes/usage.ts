import { Type } from 'typebox';
import { answerJson, bindRoutes } from '../../http/routes/route.ts';
import {
  DeploymentUsageRow,
  USAGE_ROW_GROUPS,
} from '../../schema/platform/deployment/deployment-usage.ts';
import { formatDay } from '../../schema/platform/deployment/usage-status.ts';
import { buildEnumSchema } from '../../schema/types.ts';
import type { Caller } from '../caller.ts';
import type { ControlPlane } from '../control-plane.ts';
import { buildTenantFilter } from '../deployments/lookup.ts';
import { addDaySums, readDeploymentUsage } from '../deployments/usage.ts';
import { takePage } from '../paging.ts';
import { buildRestRouteMakers } from './route.ts';

const route = buildRestRouteMakers<[ControlPlane]>('usage');

/** Rows of a page. */
const LONGEST = 500;

/** Returns the route that shows how much of models the deployments of a tenant use. */
export const deploymentUsageRoutes = bindRoutes([
  route.get('/v2/usage', {
    id: 'readUsage',
    summary:
      'Read how much of models deployments have used today and yesterday, as they report it.',
    access: 'read',
    query: Type.Object({
      group_by: Type.Optional(
        buildEnumSchema(USAGE_ROW_GROUPS, {
          default: 'deployment',
          description: 'Whether each deployment is a row, or the tenant.',
        }),
      ),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: LONGEST, default: 100 })),
      offset: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000_000, default: 0 })),
    }),
    answers: {
      200: {
        description: 'The sums, those that cost most today first.',
        schema: Type.Object({
          day: Type.String({ description: 'Today, of UTC.' }),
          resources: Type.Array(DeploymentUsageRow),
          offset: Type.Integer({ description: 'The offset of the next page.' }),
          total: Type.Integer({ description: 'The number of rows of all pages.' }),
        }),
      },
    },
    handler: async ({ caller, query: { group_by: by, limit = 100, offset = 0 } }, plane) => {
      const now = new Date();
      const rows = listRows(plane, caller, now);
      const groups = by === 'tenant' ? [sumRows(rows, caller)] : rows;
      const { items, offset: next } = takePage(groups, { limit, offset });
      return answerJson({
        day: formatDay(now),
        resources: items,
        offset: next,
        total: groups.length,
      });
    },
  }),
]);

/** Returns the deployments of the caller's tenant that report usage, those that cost most today first. */
function listRows(plane: ControlPlane, caller: Caller, now: Date): DeploymentUsageRow[] {
  const rows: DeploymentUsageRow[] = [];
  for (const deployment of plane.stored
    .listDeployments()
    .filter(buildTenantFilter(plane, caller))) {
    const usage = readDeploymentUsage(deployment, now);
    if (usage.today === null && usage.yesterday === null) continue;
    const { name, namespace = '' } = deployment.metadata;
    rows.push({
      tenant_id: caller.tenantId,
      deployment_id: plane.stored.getId(deployment),
      name,
      namespace,
      ...usage,
    });
  }
  return rows.sort(compareRows);
}

const measureCosts = ({ today, yesterday }: DeploymentUsageRow): number[] => [
  today?.cost_usd ?? 0,
  today?.calls ?? 0,
  yesterday?.cost_usd ?? 0,
];

function compareRows(one: DeploymentUsageRow, other: DeploymentUsageRow): number {
  const [ours, theirs] = [measureCosts(one), measureCosts(other)];
  const at = ours.findIndex((amount, place) => amount !== theirs[place]);
  return at === -1 ? (one.name ?? '').localeCompare(other.name ?? '') : theirs[at]! - ours[at]!;
}

const sumRows = (rows: DeploymentUsageRow[], { tenantId }: Caller): DeploymentUsageRow =>
  rows.reduce<DeploymentUsageRow>(
    (sum, row) => ({
      ...sum,
      today: addDaySums(sum.today, row.today),
      yesterday: addDaySums(sum.yesterday, row.yesterday),
    }),
    { tenant_id: tenantId, deployments: rows.length, today: null, yesterday: null },
  );
