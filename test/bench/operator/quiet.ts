import { setTimeout as wait } from 'node:timers/promises';
import { readOperatorConfig } from '../../../src/config/platform/operator.ts';
import type { ApiServer } from '../../kit/api-server.ts';
import { operatorFor } from '../../kit/operator.ts';
import { AuditTrail, isWrite, resourceOf } from './audit.ts';
import { SETTINGS } from './process.ts';
import type { Table } from './table.ts';

/*
 * What a cluster at rest costs an operator that lists everything again every few seconds instead of every quarter of an
 * hour.
 */

const RELIST = 10_000;
const WINDOW = 60_000;
const TIMES = {
  watch: { relist: RELIST, watchSeconds: [RELIST / 1000, RELIST / 1000] as [number, number] },
  sweep: RELIST,
};
/** The first pass is over after so long without a request other than lists. */
const SILENCE = 5000;

export async function measureRest(
  { server, count }: { server: ApiServer; count: number },
  table: Table,
): Promise<void> {
  const start = new AuditTrail(server.auditLog);
  const { settings } = readOperatorConfig(SETTINGS);
  const operator = await operatorFor(
    { namespace: 'default', kubeconfig: server.kubeconfig },
    { identity: 'rest', times: TIMES, settings },
  );
  await operator.leading;
  const first = (): number =>
    start.requests(operator.userAgent).filter(({ verb }) => verb !== 'list' && verb !== 'watch')
      .length;
  for (let before = -1; before !== first(); await wait(SILENCE)) before = first();
  const written = start.requests(operator.userAgent).filter(isWrite).length;
  const trail = new AuditTrail(server.auditLog);
  await wait(WINDOW);
  const seen = trail.requests(operator.userAgent);
  await operator.stop();
  const lists = seen.filter(({ verb }) => verb === 'list');
  const watches = seen.filter(({ verb }) => verb === 'watch');
  const others = seen.filter(({ verb }) => verb !== 'list' && verb !== 'watch');
  const rounds = lists.filter((event) => resourceOf(event) === 'listeners').length;
  table.title(
    `${count} deployments at rest, by the API server's audit log (all listed again ${rounds} times in ${WINDOW / 1000} s)`,
  );
  table.row('pages of lists', String(lists.length));
  table.row('watches', String(watches.length));
  table.row('all other requests, the Lease apart', String(others.length), {
    says: '0',
    met: others.length === 0 && rounds > 0,
  });
  table.row('writes when it met them first', String(written), { says: '0', met: written === 0 });
}
