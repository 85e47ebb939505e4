import {
  closeSync,
  fstatSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { until } from '../kit/until.ts';

/**
 * One step of a run, as the graph recorded it when the step began: by which process, and when (milliseconds). `pid` is
 * the server's, `runner` that of a graph in Python.
 */
export type Line = {
  run: string;
  attempt: number;
  left: number;
  pid: number;
  runner?: number;
  at: number;
};

export type Journal = {
  file: string;
  lines(): Line[];
  /** Returns the last few hundred steps. */
  recent(): Line[];
  /** Returns the run's steps in the order in which they began. */
  of(run: string): Line[];
};

const RECENT_BYTES = 64 * 1024;

export function openJournal(): Journal {
  const file = join(mkdtempSync(join(tmpdir(), 'gx-crash-')), 'journal');
  writeFileSync(file, '');
  const parsed = (text: string): Line[] =>
    text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Line);
  const lines = (): Line[] => parsed(readFileSync(file, 'utf8'));
  const recent = (): Line[] => {
    const end = endOf(file, RECENT_BYTES);
    return parsed(end.whole ? end.text : end.text.slice(end.text.indexOf('\n')));
  };
  return { file, lines, recent, of: (run) => lines().filter((line) => line.run === run) };
}

function endOf(file: string, bytes: number): { text: string; whole: boolean } {
  const open = openSync(file, 'r');
  const { size } = fstatSync(open);
  const buffer = Buffer.alloc(Math.min(size, bytes));
  readSync(open, buffer, 0, buffer.length, size - buffer.length);
  closeSync(open);
  return { text: buffer.toString(), whole: size <= bytes };
}

export function byRun(lines: Line[]): Map<string, Line[]> {
  return Map.groupBy(lines, ({ run }) => run);
}

/** A run went on in another process. `from` is the last step there, and `to` the first one here. */
export type Move = { run: string; from: Line; to: Line };

export const movesOf = (lines: Line[]): Move[] =>
  lines.flatMap((to, at) => {
    const from = lines[at - 1];
    return from !== undefined && processOf(from) !== processOf(to)
      ? [{ run: to.run, from, to }]
      : [];
  });

const processOf = ({ pid, runner = pid }: Line): number => runner;

/** Returns a step that one of these servers has just begun. A new one may work before anybody has seen it ready. */
export async function stepUnderWay(
  journal: Journal,
  servers: () => number[],
  within: number,
): Promise<Line> {
  return until('a server is at work', async () => {
    await wait(50);
    const alive = new Set(servers());
    const recent = journal
      .recent()
      .filter(({ pid, at }) => alive.has(pid) && at > Date.now() - within);
    const processes = [...new Map(recent.map((line) => [processOf(line), line])).values()];
    return processes[Math.floor(Math.random() * processes.length)];
  });
}

/** Returns the value below which this share of them lies. */
export function quantile(values: number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

/** Returns the median, the 99th percentile and the maximum, in seconds. */
export function seconds(milliseconds: number[]): string {
  const at = (share: number): string => (quantile(milliseconds, share) / 1000).toFixed(2);
  return `p50 ${at(0.5)} s, p99 ${at(0.99)} s, max ${at(1)} s, of ${milliseconds.length}`;
}
