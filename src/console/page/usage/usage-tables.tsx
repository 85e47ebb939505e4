import type { ComponentChildren } from 'preact';
import { EmptyState } from '../shell/controls.tsx';
import { Table } from '../shell/table.tsx';
import { describeUnpriced, formatCost, formatTokens, type UsageSumsRow } from './usage-rows.ts';

const HEADS = ['Calls', 'Tokens in', 'Tokens out', 'Cost'];

/** Returns the bar of an amount: its part of the largest one. */
const Bar = ({ part }: { part: number }) => (
  <span class="bar" aria-hidden="true">
    <span style={{ width: `${Math.round(100 * part)}%` }} />
  </span>
);

/** Sums in rows, with a bar for the part that each has of the largest: of costs, or of tokens without a known cost. */
export function UsageTable({
  head,
  rows,
  name = (row) => row.group,
}: {
  head: string;
  rows: readonly UsageSumsRow[];
  name?: (row: UsageSumsRow) => ComponentChildren;
}) {
  const isPriced = rows.some(({ cost = 0 }) => cost > 0);
  const measure = (row: UsageSumsRow): number =>
    isPriced ? (row.cost ?? 0) : row.input + row.output;
  const most = Math.max(1e-12, ...rows.map(measure));
  return (
    <Table
      class="usage"
      heads={[head, ...HEADS, 'Share']}
      rows={rows.map((row) => ({
        key: row.group,
        cells: [
          name(row),
          formatTokens(row.calls),
          formatTokens(row.input),
          formatTokens(row.output),
          formatCost(row.cost),
          <Bar part={measure(row) / most} />,
        ],
      }))}
    />
  );
}

/** The sums of a time. */
export const UsageTotals = ({ sums }: { sums: UsageSumsRow }) => (
  <dl class="totals">
    <Total name="Cost" value={formatCost(sums.cost)} />
    <Total name="Calls" value={formatTokens(sums.calls)} />
    <Total name="Tokens in" value={formatTokens(sums.input)} />
    <Total name="Tokens out" value={formatTokens(sums.output)} />
  </dl>
);

const Total = ({ name, value }: { name: string; value: string }) => (
  <div>
    <dt>{name}</dt>
    <dd>{value}</dd>
  </div>
);

/** The calls that sums do not have: those without tokens, and those without a price. */
export const UsageNotes = ({ sums, sentences }: { sums: UsageSumsRow; sentences: string[] }) => (
  <>
    {[...sentences, describeUnpriced(sums)].map((sentence) =>
      sentence === undefined ? null : (
        <p key={sentence} class="note">
          {sentence}
        </p>
      ),
    )}
  </>
);

/** Says that there are no calls, and how they come to be recorded. */
export const NoUsage = () => (
  <EmptyState icon="spark" title="No calls of models.">
    <p>
      Deployments record them with the variable <code>GX_USAGE=true</code>.
    </p>
  </EmptyState>
);
