import { setTimeout as wait } from 'node:timers/promises';
import { kinds } from '../../../src/kube/kinds.ts';
import type { Kube } from '../../../src/kube/kube.ts';
import { READY } from '../../../src/schema/platform/objects/conditions.ts';
import { conditionOf } from '../../kit/api-server.ts';
import { until } from '../../kit/until.ts';
import { AuditTrail, isChildWrite } from './audit.ts';
import type { Given } from './creation.ts';
import { bestAtOnce, CHILDREN, writeFamilies, type Written } from './limits.ts';
import { startPods } from './pods.ts';
import { startRest } from './post.ts';
import { startOperatorProcess, USER_AGENT, type OperatorUnderTest } from './process.ts';
import { seconds, type Table } from './table.ts';

/*
 * An operator at work gets many new deployments at once. It takes turns with a client that only writes the same objects
 * for as long, because the machine's speed changes from minute to minute. The operator is stopped during the client's
 * turns. Both have written some before, and Kubernetes makes pods of what both write.
 */

const SHARE = 0.6;
/** A single round is off by up to 0.1, because the machine has more to do in one side's turns than in the other's. */
export const ROUNDS = 3;
/** The operator watches this namespace. The client writes elsewhere. */
const NAMESPACE = 'agents-0';
/** The milliseconds of a turn. An operator that is stopped for longer than 10 s may not write any more. */
const TURN = 2500;
/** This is more than it takes, so that only a fault ends it. */
const TURNS = 200;
/**
 * The number of deployments that warm up the operator's program. The client's warms up while it looks for its best way
 * to write.
 */
const FIRST = 50;
/** The seconds until they serve, at most. */
const PATIENCE = 300;

type Span = { from: number; to: number };

/** Returns the median of the rounds. */
export function tellShare(shares: number[], table: Table): void {
  const share = shares.toSorted((a, b) => a - b)[Math.floor(shares.length / 2)] ?? 0;
  table.title(
    `Children of new deployments, ${shares.length} rounds, each on an API server of its own`,
  );
  const each = shares.map((one) => one.toFixed(2)).join(', ');
  table.row(
    'the operator beside a client that does nothing else: median',
    `${share.toFixed(2)} (${each})`,
    {
      says: `>= ${SHARE}`,
      met: share >= SHARE,
    },
  );
}

/** Returns the operator's writes of children, divided by the client's in the same time. */
export async function measureWrites(given: Given, table: Table): Promise<number> {
  const { server, kube, count, flags, report } = given;
  const running: { stop(): Promise<void> }[] = [];
  const run = <T extends { stop(): Promise<void> }>(one: T): T => (running.unshift(one), one);
  try {
    run(await startPods(kube, server.kubeconfig));
    const rest = run(await startRest({ server, kube, namespaces: [NAMESPACE] }));
    const operator = run(
      await startOperatorProcess({ kubeconfig: server.kubeconfig, flags, namespaces: [NAMESPACE] }),
    );
    await rest.post(FIRST);
    await until(
      'the first deployments serve',
      async () => (await serving(kube)) === FIRST,
      PATIENCE,
    );
    const atOnce = await bestAtOnce(kube, TURN);
    report(`the client writes for ${atOnce} deployments at once`);
    operator.pause();
    const posted = await rest.post(count);
    report(`${count} posted in ${seconds(posted)}`);
    const trail = new AuditTrail(server.auditLog);
    const turns = await inTurn(
      { operator, auditLog: server.auditLog, children: count * CHILDREN },
      async () => {
        const written = await writeFamilies(kube, TURN, atOnce);
        report(`the client: ${Math.round(written.count / written.seconds)} writes a second`);
        return written;
      },
    );
    return tell({ count, trail, ...turns }, table);
  } finally {
    for (const one of running) await one.stop();
  }
}

async function serving(kube: Kube): Promise<number> {
  const found = await kube.listAll(kinds.deployment);
  return found.filter((deployment) => conditionOf(deployment, READY) === 'True').length;
}

type Turn = { operator: OperatorUnderTest; auditLog: string; children: number };
/** The operator's turns, and what the client wrote in its own. */
type Turns = { turns: Span[]; limit: Written };

/** The operator has turns until so many children are written. The client has one after each. */
async function inTurn(
  { operator, auditLog, children }: Turn,
  client: () => Promise<Written>,
): Promise<Turns> {
  const turns: Span[] = [];
  const limit: Written = { count: 0, seconds: 0 };
  for (let made = 0; made < children;) {
    if (turns.length === TURNS)
      throw new Error(`${made} of ${children} children are written after ${TURNS} turns`);
    // Only this turn is read. The whole log would leave the client, which shares our process, much garbage to collect.
    const trail = new AuditTrail(auditLog);
    const from = Date.now();
    operator.goOn();
    await wait(TURN);
    operator.pause();
    turns.push({ from, to: Date.now() });
    const written = await client();
    limit.count += written.count;
    limit.seconds += written.seconds;
    made += trail.times(USER_AGENT, isChildWrite).length;
  }
  operator.goOn();
  return { turns, limit };
}

type Round = Turns & { count: number; trail: AuditTrail };

function tell({ count, trail, turns, limit }: Round, table: Table): number {
  const best = limit.count / limit.seconds;
  const children = perSecond(trail.times(USER_AGENT, isChildWrite), turns);
  const all = perSecond(trail.times(USER_AGENT), turns);
  const share = children.rate / best;
  table.title(
    `Children of ${count} new deployments (posted at once to an operator at work; pods by kwok)`,
  );
  table.row(
    `the API server for a client that does nothing else (${limit.count})`,
    `${Math.round(best)} writes/s`,
  );
  table.row(
    `the operator, in turn with it: children (${children.count})`,
    `${Math.round(children.rate)}/s, ratio ${share.toFixed(2)}`,
  );
  table.row(
    `the operator: all writes, with statuses and events (${all.count})`,
    `${Math.round(all.rate)}/s, ratio ${(all.rate / best).toFixed(2)}`,
  );
  return share;
}

/** Returns the writes per second between the first and the last of these times, counting the turns alone. */
function perSecond(times: number[], turns: Span[]): { count: number; rate: number } {
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const worked = turns.reduce(
    (sum, { from, to }) => sum + Math.max(0, Math.min(to, last) - Math.max(from, first)),
    0,
  );
  return { count: times.length, rate: (times.length * 1000) / worked };
}
