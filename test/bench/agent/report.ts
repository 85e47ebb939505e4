import { median } from './load.ts';
import type { Contender } from './contenders.ts';
import type { Scenario, Who } from './scenarios/scenario.ts';

/** A scenario's figures: one for each round. */
export type Measured = { scenario: Scenario; figures: Partial<Record<Who, number[]>> };

export type Verdict = { goal: string; met: boolean };

const UNITS: Record<Scenario['unit'], number> = { ms: 1, 'per s': 0, times: 2, MB: 0 };
const shown = (value: number | undefined, unit: Scenario['unit']): string => (value === undefined ? '-' : value.toFixed(UNITS[unit]));

const mid = (figures: number[] | undefined): number | undefined => (figures === undefined ? undefined : median(figures));

/** How often better ours is: times faster, or times more. */
function ratio({ scenario, figures }: Measured, who: Who): number | undefined {
  const [own, other] = [mid(figures.gx), mid(figures[who])];
  if (own === undefined || other === undefined) return undefined;
  return scenario.unit === 'per s' ? own / other : other / own;
}

/** The goals of a scenario, judged by medians. A ratio goal holds against the best of its peers that took part. */
function verdicts(measured: Measured): Verdict[] {
  const { limit, times = [], unit } = measured.scenario;
  const own = mid(measured.figures.gx);
  const found: Verdict[] = [];
  if (limit !== undefined && own !== undefined) {
    if ('atMost' in limit) found.push({ goal: `<= ${limit.atMost} ${unit}`, met: own <= limit.atMost });
    else found.push({ goal: `>= ${limit.atLeast} ${unit}`, met: own >= limit.atLeast });
  }
  for (const { of, atLeast } of times) {
    const ratios = of.map((who) => ratio(measured, who)).filter((value) => value !== undefined);
    if (ratios.length > 0) found.push({ goal: `>= ${atLeast}x ${of.join(', ')}`, met: Math.min(...ratios) >= atLeast });
  }
  return found;
}

const word = ({ goal, met }: Verdict): string => `${goal}: ${met ? 'met' : 'MISSED'}`;

function cell(measured: Measured, who: Who): string {
  const value = mid(measured.figures[who]);
  if (value === undefined) return '-';
  const figure = shown(value, measured.scenario.unit);
  return who === 'gx' ? figure : `${figure} (${(ratio(measured, who) ?? Number.NaN).toFixed(1)}x)`;
}

/** The table as Markdown: a row for each scenario, a column for each server, with how many times better this one is. */
export function table(rows: Measured[], contenders: Contender[]): string {
  const head = ['scenario (median of rounds)', '', ...contenders.map(({ name }) => name), 'goal'];
  const lines = rows.map((row) => [
    row.scenario.what,
    row.scenario.unit,
    ...contenders.map(({ who }) => cell(row, who)),
    verdicts(row).map(word).join('; '),
  ]);
  return markdown([head, head.map(() => '---'), ...lines]);
}

/** A row of this server alone with its goal. */
export const single = (what: string, figure: string, verdict?: Verdict): string[] => [what, figure, verdict ? word(verdict) : ''];

export const pairs = (head: string[], lines: string[][]): string => markdown([head, head.map(() => '---'), ...lines]);

function markdown(lines: string[][]): string {
  const widths = lines[0]!.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  return lines.map((line) => `| ${line.map((text, column) => text.padEnd(widths[column]!)).join(' | ')} |`).join('\n');
}
