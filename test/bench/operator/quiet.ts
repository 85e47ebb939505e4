import { setTimeout as wait } from 'node:timers/promises';
import { auditEvents } from '../../kit/api-server.ts';
import { operatorFor } from '../../kit/operator.ts';
import { AuditTrail, resourceOf } from './audit.ts';
import type { Given } from './creation.ts';
import type { Table } from './table.ts';

/* What a world at rest costs: an operator that lists everything again every few seconds, instead of every quarter of an hour. */

const RELIST = 10_000;
const WINDOW = 60_000;
const TIMES = { watch: { relist: RELIST, watchSeconds: [RELIST / 1000, RELIST / 1000] as [number, number] }, sweep: RELIST };
/** Without a request for so long, the first pass is over. */
const SILENCE = 5000;

export async function measureRest({ server, count }: Pick<Given, 'server' | 'count'>, table: Table): Promise<void> {
  const operator = await operatorFor({ namespace: 'default', kubeconfig: server.kubeconfig }, { identity: 'rest', times: TIMES });
  await operator.leading;
  const writes = (): number =>
    auditEvents(server.auditLog, operator.userAgent).filter(({ verb }) => !['get', 'list', 'watch'].includes(verb)).length;
  const rest = (): number => writes() - leases(server.auditLog, operator.userAgent);
  for (let before = -1; before !== rest(); await wait(SILENCE)) before = rest();
  const trail = new AuditTrail(server.auditLog);
  await wait(WINDOW);
  const seen = trail.requests(operator.userAgent);
  await operator.stop();
  const lists = seen.filter(({ verb }) => verb === 'list');
  const watches = seen.filter(({ verb }) => verb === 'watch');
  const others = seen.filter(({ verb }) => verb !== 'list' && verb !== 'watch');
  const rounds = Math.round(lists.filter((event) => resourceOf(event) === 'listeners').length);
  table.title(`${count} deployments at rest, by the API server's audit log (all listed again ${rounds} times in ${WINDOW / 1000} s)`);
  table.row('pages of lists', String(lists.length));
  table.row('watches', String(watches.length));
  table.row('all other requests, the Lease apart', String(others.length), { says: '0', met: others.length === 0 && rounds > 0 });
}

const leases = (auditLog: string, userAgent: string): number =>
  auditEvents(auditLog, userAgent).filter((event) => resourceOf(event) === 'leases' && !['get', 'list', 'watch'].includes(event.verb))
    .length;
