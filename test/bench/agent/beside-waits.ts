import { input } from './api.ts';
import type { Checkout } from './checkout.ts';
import type { Databases } from './databases.ts';
import { call } from './http.ts';
import { median } from './load.ts';
import type { Line } from './report.ts';
import type { BenchServer } from './servers.ts';

/** Calls of each kind, and as many before them so that the code is warm. */
const CALLS = 500;

/** The bounds of a call: this many times a wait for the same run, or so many milliseconds more. */
type Bounds = { times?: number; more: number };

/** The bounds of a call by another protocol. */
const OTHER_PROTOCOL: Bounds = { times: 1.25, more: 3 };

const waited = ({ url }: BenchServer): Promise<unknown> =>
  call(`${url}/runs/wait`, { assistant_id: 'echo', input });

export type Work = { checkout: Checkout; databases: Databases; scale: number };

/** Measures what a call takes beside a wait for the same run, in turns. `what` names the call. */
export async function measureBesideWaits(
  { checkout, databases, scale }: Work,
  {
    what,
    called,
    bounds = OTHER_PROTOCOL,
  }: { what: string; called: (server: BenchServer) => Promise<void>; bounds?: Bounds },
): Promise<Line[]> {
  const server = await checkout.start({ database: await databases.fresh(), config: 'gx.json' });
  const calls = Math.round(CALLS * scale);
  const times = { waited: [] as number[], called: [] as number[] };
  try {
    for (let index = 0; index < 2 * calls; index += 1)
      for (const kind of index % 2 === 0
        ? (['waited', 'called'] as const)
        : (['called', 'waited'] as const)) {
        const started = performance.now();
        await (kind === 'waited' ? waited(server) : called(server));
        if (index >= calls) times[kind].push(performance.now() - started);
      }
  } finally {
    await server.stop();
  }
  const [wait, other] = [median(times.waited), median(times.called)];
  const { times: most, more } = bounds;
  const met = other <= (most ?? 0) * wait || other <= wait + more;
  return [
    {
      what: `${what} of the echo graph: ${other.toFixed(2)} ms, a stateless runs/wait: ${wait.toFixed(2)} ms`,
      figure: `${(other / wait).toFixed(2)}x, ${(other - wait).toFixed(2)} ms more`,
      verdict: { goal: `<= ${most === undefined ? '' : `${most}x or `}${more} ms more`, met },
    },
  ];
}
