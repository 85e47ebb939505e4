import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type {
  DaySums,
  DeploymentUsageRow,
} from '../../../schema/platform/deployment/deployment-usage.ts';
import { describeFailure } from '../api/failure-text.ts';
import { useApp } from '../shell/app.ts';
import { Button, Fault, Select, Skeleton } from '../shell/controls.tsx';
import { saveFile } from '../shell/save-file.ts';
import { formatCsv, formatTokens, sumRows, takeTop, type UsageSumsRow } from './usage-rows.ts';
import { NoUsage, UsageTotals, UsageNotes, UsageTable } from './usage-tables.tsx';

const PAGE = 500;
/** Deployments that are read, and of them those that are shown. */
const MOST = 10_000;
const SHOWN = 200;

type Page = { day: string; resources: DeploymentUsageRow[]; total: number };
type Day = 'today' | 'yesterday';
const DAYS = [
  ['today', 'Today'],
  ['yesterday', 'Yesterday'],
] as const;

/** The usage of models of all deployments of the tenant, as they report it to the platform. */
export function TenantUsage() {
  const { calls, router } = useApp();
  const found = useSignal<DeploymentUsageRow[] | undefined>(undefined);
  const refused = useSignal<string | undefined>(undefined);
  const day = useSignal<Day>('today');
  useEffect(() => {
    document.title = 'Usage · gx console';
    const leaving = new AbortController();
    const read = async (): Promise<void> => {
      const rows: DeploymentUsageRow[] = [];
      for (let total = 1; rows.length < Math.min(total, MOST);) {
        const page = await calls.fetchJson<Page>(`v2/usage?limit=${PAGE}&offset=${rows.length}`, {
          signal: leaving.signal,
        });
        rows.push(...page.resources);
        total = page.resources.length === 0 ? 0 : page.total;
      }
      found.value = rows;
    };
    read().catch((error: unknown) => {
      if (!leaving.signal.aborted) refused.value = describeFailure(error);
    });
    return () => leaving.abort();
  }, []);
  const rows = (found.value ?? []).flatMap((row) => toShownRow(row, day.value));
  const sums = sumRows(rows);
  const names = new Map(found.value?.map((row) => [row.deployment_id ?? '', row.name ?? '']));
  return (
    <main class="deployment">
      <div class="heading">
        <h1 tabIndex={-1}>Usage</h1>
        <Select
          label="Day, of UTC"
          options={DAYS}
          value={day.value}
          choose={(value) => (day.value = value as Day)}
        />
        <Button
          label="Save as CSV"
          press={() => saveFile([formatRows(found.value ?? [])], FILE)}
          disabled={found.value === undefined}
        />
      </div>
      <Fault text={refused.value} />
      {found.value === undefined ? (
        refused.value === undefined && <Skeleton lines={8} />
      ) : rows.length === 0 ? (
        <NoUsage />
      ) : (
        <>
          <UsageTotals sums={sums} />
          <UsageNotes sums={sums} sentences={describeSilent(sums)} />
          {rows.length > SHOWN && (
            <p class="note">
              The {SHOWN} deployments that cost most are shown, of {formatTokens(rows.length)}.
            </p>
          )}
          <UsageTable
            head="Deployment"
            rows={takeTop(rows, SHOWN)}
            name={({ group }) => (
              <a href={router.buildHref('deploymentUsage', { id: group })}>{names.get(group)}</a>
            )}
          />
        </>
      )}
      <p class="quiet">
        These numbers are the word of the deployments' own code. They are not fit for invoices to
        people who can change it.
      </p>
    </main>
  );
}

const FILE = { name: 'usage.csv', type: 'text/csv' };

function toShownRow(row: DeploymentUsageRow, day: Day): UsageSumsRow[] {
  const sums = row[day];
  if (sums === null) return [];
  return [
    {
      group: row.deployment_id ?? '',
      calls: sums.calls,
      unreported: sums.unreported_calls,
      unpriced: sums.unpriced_calls,
      input: sums.input_tokens,
      output: sums.output_tokens,
      cost: sums.cost_usd ?? undefined,
    },
  ];
}

const describeSilent = ({ unreported }: UsageSumsRow): string[] =>
  unreported === 0
    ? []
    : [
        `${formatTokens(unreported)} ${unreported === 1 ? 'call' : 'calls'} reported no tokens, so no sum has them. The page of a deployment names the models.`,
      ];

const FIELDS = [
  'calls',
  'unreported_calls',
  'unpriced_calls',
  'input_tokens',
  'cache_read_tokens',
  'output_tokens',
  'cost_usd',
] as const satisfies (keyof DaySums)[];

const formatRows = (rows: readonly DeploymentUsageRow[]): string =>
  formatCsv([
    ['deployment', 'namespace', 'day', ...FIELDS],
    ...rows.flatMap((row) =>
      DAYS.flatMap(([day]) => {
        const sums = row[day];
        return sums === null
          ? []
          : [
              [
                row.name ?? '',
                row.namespace ?? '',
                day,
                ...FIELDS.map((field) => sums[field] ?? ''),
              ],
            ];
      }),
    ),
  ]);
