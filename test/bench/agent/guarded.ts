import type { Checkout } from './checkout.ts';
import type { Databases } from './databases.ts';
import { createThread } from './api.ts';
import { call } from './http.ts';
import { median } from './load.ts';
import type { Line } from './report.ts';
import type { BenchServer } from './servers.ts';

/** Calls of each kind, and as many before them so that the code is warm. */
export const CALLS = 1000;

/** What a guarded call with a remembered caller may cost more than an open one. */
const AT_MOST = 0.5;

export type Setting = { checkout: Checkout; databases: Databases; scale: number };
export type Subject = { server: BenchServer; thread: string };

/** The client shows who it is in its address, to the open server as well. */
const known = (server: BenchServer): BenchServer => ({
  ...server,
  url: server.url.replace('http://', 'http://ann:secret@'),
});

export async function subject(
  { checkout, databases }: Setting,
  config: string,
  env?: Record<string, string>,
): Promise<Subject> {
  const server = known(
    await checkout.start({ database: await databases.fresh(), config, ...(env && { env }) }),
  );
  return { server, thread: await createThread(server) };
}

export const CALLED: Record<string, (subject: Subject) => Promise<unknown>> = {
  'GET of a thread': ({ server, thread }) => call(`${server.url}/threads/${thread}`),
  'search of threads': ({ server }) => call(`${server.url}/threads/search`, { limit: 10 }),
  'a new thread': ({ server }) => createThread(server),
};

/**
 * Measures what one server's calls take more than another's. They take turns call by call, so that whatever slows the
 * machine down slows both.
 */
export async function besideOpen(
  open: Subject,
  other: Subject,
  ask: (subject: Subject) => Promise<unknown>,
  calls: number,
): Promise<[number, number]> {
  const times = new Map<Subject, number[]>([
    [open, []],
    [other, []],
  ]);
  for (let index = 0; index < 2 * calls; index += 1)
    for (const one of index % 2 === 0 ? [open, other] : [other, open]) {
      const started = performance.now();
      await ask(one);
      if (index >= calls) times.get(one)!.push(performance.now() - started);
    }
  return [median(times.get(open)!), median(times.get(other)!)];
}

/** Measures what guards and middleware add to a call of the same server without them. */
export async function measureGuarded(setting: Setting): Promise<Line[]> {
  const calls = Math.round(CALLS * setting.scale);
  const subjects: Subject[] = [];
  const add = async (config: string): Promise<Subject> => {
    const one = await subject(setting, config);
    subjects.push(one);
    return one;
  };
  const lines: Line[] = [];
  try {
    const open = await add('gx.json');
    const guarded = await add('guarded.json');
    for (const [what, ask] of Object.entries(CALLED)) {
      const [without, under] = await besideOpen(open, guarded, ask, calls);
      const more = under - without;
      lines.push({
        what: `${what}, guarded: open ${without.toFixed(2)} ms, guarded ${under.toFixed(2)} ms`,
        figure: `${more.toFixed(2)} ms more`,
        verdict: { goal: `<= ${AT_MOST} ms more`, met: more <= AT_MOST },
      });
    }
    const routes = await add('routes.json');
    const [without, through] = await besideOpen(open, routes, CALLED['GET of a thread']!, calls);
    lines.push({
      what: 'GET of a thread through middleware of http.app',
      figure: `${(through - without).toFixed(2)} ms more`,
    });
    const [plain, past] = await besideOpen(
      open,
      routes,
      ({ server }) => call(`${server.url}/info`),
      calls,
    );
    lines.push({
      what: '/info past such middleware',
      figure: `${(past - plain).toFixed(2)} ms more`,
    });
    const [, own] = await besideOpen(
      open,
      routes,
      ({ server }) => call(`${server.url}/${server === routes.server ? 'hello' : 'info'}`),
      calls,
    );
    lines.push({ what: 'a route of http.app', figure: `${own.toFixed(2)} ms` });
  } finally {
    for (const { server } of subjects) await server.stop();
  }
  return lines;
}
