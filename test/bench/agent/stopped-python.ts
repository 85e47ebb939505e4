import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { until } from '../../kit/until.ts';
import { openJournal, type Journal } from '../../crash/journal.ts';
import { pythonTools } from '../../python/tools.ts';
import { createThread } from './api.ts';
import type { Checkout } from './checkout.ts';
import type { Databases } from './databases.ts';
import { call, callForText } from './http.ts';
import { median } from './load.ts';
import type { Line } from './report.ts';
import type { BenchServer } from './servers.ts';

const CANCELS = 40;
const HELD = 5;
/** Runs beside each that holds the loop. */
const NEIGHBOURS = 3;
/** Milliseconds. */
const STOPS_WITHIN = 50;
const ENDS_WITHIN = 2500;
const GOES_ON_WITHIN = 3000;

type Work = { checkout: Checkout; databases: Databases; scale: number };
type Begun = { thread: string; run: string };

async function begin(server: BenchServer, graph: string, input: object): Promise<Begun> {
  const thread = await createThread(server);
  const body = { assistant_id: graph, input, config: { recursion_limit: 2000 } };
  const { run_id } = await call<{ run_id: string }>(`${server.url}/threads/${thread}/runs`, body);
  return { thread, run: run_id };
}

/** Settles when the run has ended. */
const cancel = ({ url }: BenchServer, { thread, run }: Begun): Promise<string> =>
  callForText(`${url}/threads/${thread}/runs/${run}/cancel?wait=true`, {});

/** Returns the milliseconds from each cancel until the node that awaits hears of it. */
async function untilStopped(server: BenchServer, cancels: number): Promise<number[]> {
  const folder = mkdtempSync(path.join(tmpdir(), 'gx-bench-stops-'));
  const times: number[] = [];
  for (let index = 0; index < cancels; index += 1) {
    const note = path.join(folder, String(index));
    const run = await begin(server, 'waits', { note });
    await until('its node awaits', () => existsSync(note));
    const asked = performance.timeOrigin + performance.now();
    await cancel(server, run);
    times.push(Number(readFileSync(note, 'utf8').split('\n')[1]) - asked);
  }
  return times;
}

async function cancelLines(
  { checkout, databases, scale }: Work,
  env: Record<string, string>,
): Promise<Line[]> {
  const cancels = Math.max(10, Math.round(CANCELS * scale));
  const settings = {
    database: await databases.fresh(),
    config: '../../../python/ends/gx.json',
    env,
  };
  const lines: Line[] = [];
  for (const [what, apart] of [
    ['the process that executes it', false],
    ['another process', true],
  ] as const) {
    const server = await checkout.start({ ...settings, apart });
    const times = await untilStopped(server, cancels);
    await server.stop();
    const [middle, worst] = [median(times), Math.max(...times)];
    lines.push({
      what: `a node that awaits hears of a cancel, which ${what} is asked for: p50 (worst ${worst.toFixed(0)} ms)`,
      figure: `${middle.toFixed(1)} ms`,
      verdict: { goal: `<= ${STOPS_WITHIN} ms`, met: middle <= STOPS_WITHIN },
    });
  }
  return lines;
}

type Held = { ended: number; late: number[] };

/** Cancels a run that holds the loop of its process in C code. */
async function endHeld(server: BenchServer, journal: Journal, mark: string): Promise<Held> {
  const input = { left: 1000, pause: 50, journal: journal.file };
  const neighbours: string[] = [];
  for (let index = 0; index < NEIGHBOURS; index += 1)
    neighbours.push((await begin(server, 'counted', input)).run);
  await until('its neighbours are under way', () =>
    neighbours.every((run) => journal.of(run).length > 2),
  );
  const held = await begin(server, 'counted', { ...input, left: 3, harm: 'holds', mark });
  await until('the loop is held', () => existsSync(mark));
  const { runner } = journal.of(held.run)[0]!;
  const asked = Date.now();
  const cancelled = cancel(server, held);
  await until('its process is gone', () => !existsSync(`/proc/${runner}`));
  const ended = Date.now();
  await cancelled;
  const steps = await until('its neighbours go on', () => {
    const first = neighbours.map((run) => journal.of(run).find((line) => line.runner !== runner));
    return first.every((step) => step !== undefined) && first;
  });
  return { ended: ended - asked, late: steps.map(({ at }) => at - ended) };
}

async function heldLines(
  { checkout, databases, scale }: Work,
  env: Record<string, string>,
): Promise<Line[]> {
  const journal = openJournal();
  const all: Held[] = [];
  for (let index = 0; index < Math.max(2, Math.round(HELD * scale)); index += 1) {
    const server = await checkout.start({
      database: await databases.fresh(),
      config: '../../../crash/graphs/python.json',
      env,
    });
    all.push(await endHeld(server, journal, `${journal.file}-${index}`));
    await server.stop();
  }
  const line = (what: string, times: number[], within: number): Line => ({
    what: `${what}: worst of ${times.length}`,
    figure: `${Math.max(...times)} ms`,
    verdict: { goal: `<= ${within} ms`, met: Math.max(...times) <= within },
  });
  return [
    line(
      'a loop that is held in C ends with its process after the cancel',
      all.map(({ ended }) => ended),
      ENDS_WITHIN,
    ),
    line(
      'its neighbours go on after that',
      all.flatMap(({ late }) => late),
      GOES_ON_WITHIN,
    ),
  ];
}

/** Measures how soon stops of runs of graphs in Python are obeyed. */
export async function measureStoppedPython(work: Work): Promise<Line[]> {
  const env = { GX_PYTHON: `${await pythonTools()}/python` };
  return [...(await cancelLines(work, env)), ...(await heldLines(work, env))];
}
