import type { Asked } from './audit.ts';
import { cpuBetween, type Cpu } from './cpu.ts';
import { USER_AGENT } from './process.ts';
import type { Table } from './table.ts';

/* What one new deployment costs: requests by client, and CPU by program. */

/** Fewer than one request for twenty deployments is not a cost of a deployment. */
const RARE = 0.05;
const OURS = [USER_AGENT, 'gx-control-plane'];

export function tellRequests(
  table: Table,
  { count, asked }: { count: number; asked: Asked[] },
): void {
  const each = (total: number): string => (total / count).toFixed(2);
  table.title('Requests for one deployment, by the audit log (watches and Leases apart)');
  for (const actor of new Set([...OURS, ...asked.map((one) => one.actor)])) {
    const own = asked.filter((one) => one.actor === actor && one.count / count >= RARE);
    const sum = own.reduce((total, one) => total + one.count, 0);
    if (sum === 0) continue;
    table.row(actor, each(sum));
    for (const { what, count: times } of OURS.includes(actor) ? own : own.slice(0, 3))
      table.row(`    ${what}`, each(times));
  }
}

export function tellCpu(
  table: Table,
  { count, cpu }: { count: number; cpu: { before: Cpu; after: Cpu } },
): void {
  table.title('CPU for one deployment, by program');
  for (const [program, seconds] of cpuBetween(cpu.before, cpu.after))
    table.row(program, `${((seconds * 1000) / count).toFixed(1)} ms`);
}
