import { readdirSync, readFileSync } from 'node:fs';
import process from 'node:process';

/** The clock ticks of /proc per second, the same on every Linux that Node runs on. */
const TICKS = 100;

type Program = { pid: number; parent: number; name: string; seconds: number };

/** Seconds of CPU by program. */
export type Cpu = Map<string, number>;

/** Returns what this process, its children and their children have used until now. */
export function cpuSoFar(): Cpu {
  const programs = readdirSync('/proc').flatMap((entry) =>
    /^\d+$/.test(entry) ? (programOf(Number(entry)) ?? []) : [],
  );
  const ours = new Set([process.pid]);
  for (let before = 0; before < ours.size;) {
    before = ours.size;
    for (const { pid, parent } of programs) if (ours.has(parent)) ours.add(pid);
  }
  const cpu: Cpu = new Map();
  for (const { pid, name, seconds } of programs) {
    const said = pid === process.pid ? 'this program' : name;
    if (ours.has(pid)) cpu.set(said, (cpu.get(said) ?? 0) + seconds);
  }
  return cpu;
}

/** Returns what programs used between two looks, most first. It leaves out those with less than a tenth of a second. */
export const cpuBetween = (before: Cpu, after: Cpu): [program: string, seconds: number][] =>
  [...after]
    .map(([name, seconds]): [string, number] => [name, seconds - (before.get(name) ?? 0)])
    .filter(([, seconds]) => seconds >= 0.1)
    .toSorted(([, a], [, b]) => b - a);

function programOf(pid: number): Program | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name stands in parentheses and may contain anything.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [, parent] = fields;
    const seconds = (Number(fields[11]) + Number(fields[12])) / TICKS;
    return { pid, parent: Number(parent), name: nameOf(pid, stat), seconds };
  } catch {
    // The process has ended since the folder was read.
    return undefined;
  }
}

/** Node programs are told apart by their last word: `operator`, `control-plane`. */
function nameOf(pid: number, stat: string): string {
  const name = stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')'));
  const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').filter(Boolean);
  return words.includes('src/main.ts') ? (words.at(-1) ?? name) : name;
}
