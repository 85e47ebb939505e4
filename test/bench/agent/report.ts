import { median } from './load.ts';
import type { Contender } from './contenders.ts';
import { isOwn, type Scenario, type Who } from './scenarios/scenario.ts';

/** A scenario's figures, one for each round, and the reason why a contender has no more of them. */
export type Measured = {
  scenario: Scenario;
  figures: Partial<Record<Who, number[]>>;
  brokeOff: Partial<Record<Who, string>>;
};

export type Verdict = { goal: string; met: boolean };

/** What one figure says, of one checkout. */
export type Line = { what: string; figure: string; verdict?: Verdict };

const DECIMALS: Record<Scenario['unit'], number> = { ms: 1, 'per s': 0, times: 2, MB: 0 };

/** The number of characters of a reason that a cell of the table shows. */
const REASON = 70;

/** Returns the median of a contender that finished all rounds. */
const mid = ({ figures, brokeOff }: Measured, who: Who): number | undefined =>
  figures[who] === undefined || brokeOff[who] !== undefined ? undefined : median(figures[who]);

/** Returns the worst round: the slowest, or that in which the least was done. */
const worstOf = (unit: Scenario['unit'], figures: number[]): number =>
  unit === 'per s' ? Math.min(...figures) : Math.max(...figures);

/** Says how many times better ours is: times faster, or times more. */
const better = (unit: Scenario['unit'], own: number, other: number): number =>
  unit === 'per s' ? own / other : other / own;

function ratio(measured: Measured, who: Who): number | undefined {
  const [own, other] = [mid(measured, 'gx'), mid(measured, who)];
  return own === undefined || other === undefined
    ? undefined
    : better(measured.scenario.unit, own, other);
}

/**
 * Judges a scenario's goals by medians, and that of its worst round. A ratio goal holds against the best of its peers
 * that took part.
 */
function verdicts(measured: Measured): Verdict[] {
  const { limit, worst, times = [], unit } = measured.scenario;
  const own = mid(measured, 'gx');
  const found: Verdict[] = [];
  if (limit !== undefined && own !== undefined) {
    if ('atMost' in limit)
      found.push({ goal: `<= ${limit.atMost} ${unit}`, met: own <= limit.atMost });
    else found.push({ goal: `>= ${limit.atLeast} ${unit}`, met: own >= limit.atLeast });
  }
  if (worst !== undefined && own !== undefined)
    found.push({
      goal: `worst >= ${worst.atLeast} ${unit}`,
      met: worstOf(unit, measured.figures.gx!) >= worst.atLeast,
    });
  for (const { of, atLeast } of times) {
    const ratios = of.map((who) => ratio(measured, who)).filter((value) => value !== undefined);
    if (ratios.length > 0)
      found.push({ goal: `>= ${atLeast}x ${of.join(', ')}`, met: Math.min(...ratios) >= atLeast });
  }
  return found;
}

const word = ({ goal, met }: Verdict): string => `${goal}: ${met ? 'met' : 'MISSED'}`;

/** Two servers of this project are compared to the hundredth, together with how much the pairs of one round differ. */
function besideRatio({ scenario, figures }: Measured, who: Who, middle: number): string {
  const pairs = (figures[who] ?? []).flatMap((other, round) => {
    const own = figures.gx?.[round];
    return own === undefined ? [] : [better(scenario.unit, own, other)];
  });
  const [least, most] = [Math.min(...pairs), Math.max(...pairs)];
  return `${middle.toFixed(2)}x, rounds ${least.toFixed(2)}-${most.toFixed(2)}`;
}

function cell(measured: Measured, who: Who): string {
  const reason = measured.brokeOff[who];
  if (reason !== undefined) return `broke off: ${inCell(reason)}`;
  const value = mid(measured, who);
  if (value === undefined) return '-';
  const { unit } = measured.scenario;
  const figure = `${value.toFixed(DECIMALS[unit])}; ${worstOf(unit, measured.figures[who]!).toFixed(DECIMALS[unit])}`;
  const times = who === 'gx' ? undefined : ratio(measured, who);
  if (times === undefined) return figure;
  return `${figure} (${isOwn(who) ? besideRatio(measured, who, times) : `${times.toFixed(1)}x`})`;
}

/** Returns the first line of a message, without characters that would end the cell. */
function inCell(message: string): string {
  const line = message.split('\n')[0]!.replaceAll('|', '/');
  return line.length <= REASON ? line : `${line.slice(0, REASON)}...`;
}

/**
 * Returns the table as Markdown, with a row for each scenario and a column for each server. A peer's cell says how many
 * times better this server is.
 */
export function table(rows: Measured[], contenders: Contender[]): string {
  const head = [
    'scenario (median of rounds; worst)',
    '',
    ...contenders.map(({ name }) => name),
    'goal',
  ];
  const lines = rows.map((row) => [
    row.scenario.what,
    row.scenario.unit,
    ...contenders.map(({ who }) => cell(row, who)),
    verdicts(row).map(word).join('; '),
  ]);
  return markdown([head, head.map(() => '---'), ...lines]);
}

/** Names what broke off, for the last line: contender and scenario. */
export const brokenOff = (rows: Measured[], contenders: Contender[]): string[] =>
  rows.flatMap(({ scenario, brokeOff }) =>
    contenders
      .filter(({ who }) => brokeOff[who] !== undefined)
      .map(({ name }) => `${name} in ${scenario.id}`),
  );

/**
 * Returns a row of figures without peers: this server's, those of the checkout beside it if there is one, and the goal.
 */
export const single = (what: string, figures: string[], verdict?: Verdict): string[] => [
  what,
  ...figures,
  verdict ? word(verdict) : '',
];

export const pairs = (head: string[], lines: string[][]): string =>
  markdown([head, head.map(() => '---'), ...lines]);

function markdown(lines: string[][]): string {
  const widths = lines[0]!.map((_, column) =>
    Math.max(...lines.map((line) => line[column]?.length ?? 0)),
  );
  return lines
    .map((line) => `| ${line.map((text, column) => text.padEnd(widths[column]!)).join(' | ')} |`)
    .join('\n');
}
