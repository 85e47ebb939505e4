import { setTimeout as wait } from 'node:timers/promises';
import { AuditTrail, isChildWrite } from './audit.ts';
import { cpuBetween, cpuSoFar, type Cpu } from './cpu.ts';
import { tellCpu, tellPasses, tellRequests } from './cost.ts';
import type { Given } from './creation.ts';
import { bestAtOnce, both, CHILDREN, none, writeFamilies, type Written } from './limits.ts';
import { startPods } from './pods.ts';
import { post } from './post.ts';
import { passesOf, startOperatorProcess, USER_AGENT, type OperatorUnderTest } from './process.ts';
import { seconds, type Table } from './table.ts';

/*
 * New deployments wait for the operator. It works in turn with a client that does nothing but write the same objects, some seconds each,
 * because a machine that has other work now will have none in a minute; it is stopped meanwhile. Kubernetes makes pods of what both write.
 */

const SHARE = 0.6;
/** What the operator looks at; the client writes elsewhere. */
const NAMESPACE = 'agents-0';
/** Milliseconds of a turn of the operator's. */
const TURN = 2500;
/** Longer than it takes, so that only a fault ends it. */
const TURNS = 200;
/** Of deployments, a turn of the client's. */
const BLOCK = 80;

type Span = { from: number; to: number };

export async function measureWrites(given: Given, table: Table): Promise<void> {
  const { server, kube, count, flags, report } = given;
  const pods = await startPods(kube, server.kubeconfig);
  const atOnce = await bestAtOnce(kube, BLOCK);
  report(`the client writes for ${atOnce} deployments at once`);
  report(`${count} posted in ${seconds(await post({ server, kube, count, namespaces: [NAMESPACE] }))}`);
  const trail = new AuditTrail(server.auditLog);
  const operator = await startOperatorProcess({ kubeconfig: server.kubeconfig, flags, namespaces: [NAMESPACE] });
  const turn = { operator, auditLog: server.auditLog, children: count * CHILDREN };
  const { turns, cpu, limit } = await inTurn(turn, async () => {
    const written = await writeFamilies(kube, BLOCK, atOnce);
    report(`the client: ${Math.round(written.count / written.seconds)} writes a second`);
    return written;
  });
  const passes = await passesOf(operator);
  const children = perSecond(trail.times(USER_AGENT, isChildWrite), turns);
  const all = perSecond(trail.times(USER_AGENT), turns);
  const asked = trail.census();
  await operator.stop();
  await pods.stop();
  const best = limit.count / limit.seconds;
  const share = children.rate / best;
  const milliseconds = [limit.cpu / limit.count, [...cpu.values()].reduce((sum, spent) => sum + spent, 0) / children.count].map(
    (one) => one * 1000,
  );
  table.title(`Children of ${count} new deployments (posted before the operator starts; pods by kwok)`);
  table.row(`the API server for a client that does nothing else (${limit.count})`, `${Math.round(best)} writes/s`);
  table.row(`the operator, in turn with it: children (${children.count})`, `${Math.round(children.rate)}/s, ratio ${share.toFixed(2)}`, {
    says: `>= ${SHARE}`,
    met: share >= SHARE,
  });
  table.row(
    `the operator: all writes, with statuses and events (${all.count})`,
    `${Math.round(all.rate)}/s, ratio ${(all.rate / best).toFixed(2)}`,
  );
  const [client = 0, child = 0] = milliseconds;
  table.row(
    'CPU of all programs for one write: that client, a child',
    `${client.toFixed(1)}, ${child.toFixed(1)} ms, ratio ${(client / child).toFixed(2)}`,
  );
  tellPasses(table, { count, passes });
  tellRequests(table, { count, asked: asked.filter(({ actor }) => actor === USER_AGENT) });
  tellCpu(table, { count, cpu: { before: new Map(), after: cpu } });
}

type Turn = { operator: OperatorUnderTest; auditLog: string; children: number };

/** The operator's turns until so many children are written, and all of the client's between them. */
async function inTurn({ operator, auditLog, children }: Turn, client: () => Promise<Written>) {
  const turns: Span[] = [];
  const cpu: Cpu = new Map();
  let limit = none;
  for (let made = 0; made < children;) {
    if (turns.length === TURNS) throw new Error(`${made} of ${children} children are written after ${TURNS} turns`);
    // Of this turn alone: the whole log would leave the client, which shares our process, much to collect.
    const trail = new AuditTrail(auditLog);
    const [before, from] = [cpuSoFar(), Date.now()];
    operator.goOn();
    await wait(TURN);
    operator.pause();
    turns.push({ from, to: Date.now() });
    for (const [program, spent] of cpuBetween(before, cpuSoFar())) cpu.set(program, (cpu.get(program) ?? 0) + spent);
    limit = both(limit, await client());
    made += trail.times(USER_AGENT, isChildWrite).length;
  }
  operator.goOn();
  return { turns, cpu, limit };
}

/** Writes a second, of those at these times, between the first and the last: of the turns alone. */
function perSecond(times: number[], turns: Span[]): { count: number; rate: number } {
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const worked = turns.reduce((sum, { from, to }) => sum + Math.max(0, Math.min(to, last) - Math.max(from, first)), 0);
  return { count: times.length, rate: (times.length * 1000) / worked };
}
