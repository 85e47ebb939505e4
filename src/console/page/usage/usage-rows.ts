/* The usage of models as the page shows it: from agents, whose code is anybody's, and from the control plane. */

/** Sums of some calls, with the value by which they are grouped. */
export type UsageSumsRow = {
  group: string;
  calls: number;
  unreported: number;
  unpriced: number;
  input: number;
  output: number;
  /** US dollars; undefined where no price is known, which is not zero. */
  cost: number | undefined;
};

const readCount = (value: unknown): number =>
  typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0;
const readCost = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined;
const readText = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Returns the rows of an agent's answer. A row of another form counts as one without calls. */
export const readUsageRows = (answer: unknown, group: string): UsageSumsRow[] =>
  (Array.isArray(answer) ? (answer as unknown[]) : []).map((one) => {
    const row = (typeof one === 'object' && one !== null ? one : {}) as Record<string, unknown>;
    return {
      group: readText(row[group]),
      calls: readCount(row['calls']),
      unreported: readCount(row['unreported']),
      unpriced: readCount(row['unpriced']),
      input: readCount(row['input']),
      output: readCount(row['output']),
      cost: readCost(row['cost_usd']),
    };
  });

/** Returns the rows that cost most, and of equal ones those with most tokens. */
export const takeTop = (rows: readonly UsageSumsRow[], most: number): UsageSumsRow[] =>
  rows
    .toSorted(
      (one, other) =>
        (other.cost ?? 0) - (one.cost ?? 0) ||
        other.input + other.output - (one.input + one.output) ||
        other.calls - one.calls,
    )
    .slice(0, most);

/** Returns a row for each day of a time, also for those without calls. `days` are counted back from `today`, of UTC. */
export function fillDays(
  rows: readonly UsageSumsRow[],
  today: string,
  days: number,
): UsageSumsRow[] {
  const known = new Map(rows.map((row) => [row.group.slice(0, 10), row]));
  return Array.from({ length: days }, (_, back) => {
    const group = new Date(Date.parse(today) - back * 86_400_000).toISOString().slice(0, 10);
    return { ...EMPTY, ...known.get(group), group };
  });
}

const EMPTY = { calls: 0, unreported: 0, unpriced: 0, input: 0, output: 0, cost: undefined };

/** Returns the sums of all rows. */
export const sumRows = (rows: readonly UsageSumsRow[]): UsageSumsRow =>
  rows.reduce<UsageSumsRow>(
    (sum, row) => ({
      group: '',
      calls: sum.calls + row.calls,
      unreported: sum.unreported + row.unreported,
      unpriced: sum.unpriced + row.unpriced,
      input: sum.input + row.input,
      output: sum.output + row.output,
      cost:
        sum.cost === undefined && row.cost === undefined
          ? undefined
          : (sum.cost ?? 0) + (row.cost ?? 0),
    }),
    { group: '', ...EMPTY },
  );

/** Returns dollars as people read them. Unknown is a dash, and a small price is not rounded to nothing. */
export function formatCost(cost: number | undefined): string {
  if (cost === undefined) return '–';
  const digits = cost > 0 && cost < 0.01 ? 6 : 2;
  return `$${cost.toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: digits })}`;
}

export const formatTokens = (count: number): string => count.toLocaleString('en');

/** Returns a sentence for each model with calls that reported no tokens, and how they come to report them. */
export const listUnreportedModels = (models: readonly UsageSumsRow[]): string[] =>
  models
    .filter(({ unreported }) => unreported > 0)
    .map(
      ({ unreported, group }) =>
        `${formatTokens(unreported)} ${unreported === 1 ? 'call' : 'calls'} of ${group === '' ? 'an unnamed model' : group} reported no tokens, so no sum has them. In Python, set stream_usage=True on the model.`,
    );

/** Returns a sentence about calls without a price; undefined where all have one. */
export const describeUnpriced = ({ unpriced }: UsageSumsRow): string | undefined =>
  unpriced === 0
    ? undefined
    : `${formatTokens(unpriced)} ${unpriced === 1 ? 'call has' : 'calls have'} no price, so no cost has them.`;

/** Returns a table as text with commas. A cell that a spreadsheet takes for a formula begins with an apostrophe. */
export const formatCsv = (rows: readonly (readonly (string | number)[])[]): string =>
  rows.map((row) => `${row.map(formatCell).join(',')}\r\n`).join('');

function formatCell(value: string | number): string {
  if (typeof value === 'number') return String(value);
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
