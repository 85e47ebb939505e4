import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import process from 'node:process';
import { WorkFollower, type Trial } from '../../src/operator/scale/work-follower.ts';
import { createLog } from '../../src/log.ts';

/*
 * The part of the operator that reads reports and compares revisions, in a process of its own, so that its memory and
 * its event loop are watched from outside. Arguments: where the gateway serves reports, and the deployments of which a
 * revision is tried out.
 */

const [reports = '', ...tried] = process.argv.slice(2);
const trial: Trial = {
  candidate: 'sleeper-00002',
  stable: 'sleeper-00001',
  share: 10,
  checks: (['errors', 'p95', 'wait', 'lost', 'stuck', 'tokens'] as const).map((figure) => ({
    figure,
    worseBy: 20,
    least: 1,
    failures: 100,
  })),
  everySeconds: 1,
};
/** Milliseconds of each look, by the clock and of processor time. */
const looks: [clock: number, cpu: number][] = [];
const usedMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};
let unread = 0;
const follower = new WorkFollower({
  gateways: () => [reports],
  scalable: () => ({ bounds: { least: 1, most: 100 }, live: 1 }),
  draining: () => [],
  wakeDraining: () => undefined,
  trial: (deployment) => (tried.includes(deployment) ? trial : undefined),
  queries: undefined,
  concernsSleep: () => true,
  interrupted: () => undefined,
  isUsageNews: () => false,
  lagged: () => undefined,
  wake: () => undefined,
  learned: () => undefined,
  signs: () => Promise.resolve(),
  observer: { scaled: () => undefined, unread: () => void (unread += 1) },
  downSeconds: 60,
  log: createLog({ level: 'silent', process: 'follower' }),
});

/** Answers with the times of the looks since the last question, and the work of the deployment that the path names. */
const server = createServer((request, response) => {
  const summary = follower.getSummary((request.url ?? '').slice(1));
  response.end(
    JSON.stringify({
      looks: looks.splice(0),
      unread,
      due: summary?.due ?? null,
      verdicts: tried.map((name) => follower.getVerdict(name)),
    }),
  );
}).listen(0, '127.0.0.1', () => {
  process.stdout.write(`${JSON.stringify({ port: (server.address() as AddressInfo).port })}\n`);
});

const over = new AbortController();
process.once('SIGTERM', () => {
  over.abort();
  server.close();
  server.closeAllConnections();
});
while (!over.signal.aborted) {
  const [began, used] = [performance.now(), usedMs()];
  const hasRead = await follower.look(over.signal);
  looks.push([performance.now() - began, usedMs() - used]);
  await new Promise((resolve) =>
    setTimeout(resolve, hasRead ? Math.max(0, 1000 - (performance.now() - began)) : 0),
  );
}
