import { pythonTools } from '../../python/tools.ts';
import { createThread, wait, waitForText } from './api.ts';
import type { Checkout } from './checkout.ts';
import type { Databases } from './databases.ts';
import { AROUND, at, kilobytes, ms, storedBytes } from './growing-thread.ts';
import type { Line } from './report.ts';

/** Runs before the measurement, which the runner and the server warm up by. */
const WARM = 30;

const MIDDLE = 200;
const LAST = 1000;
const MOST_MS = 40;
/** The factor by which the 200th run may exceed one of the first 20. */
const TIMES = 1.5;
/** The bytes that 200 runs may store, of 67 kB of content. */
const MOST_STORED = 600_000;

type Work = { checkout: Checkout; databases: Databases; scale: number };

/** The same conversation with a graph in Python, whose runner finds what each step adds. */
export async function measureGrowingPython({ checkout, databases, scale }: Work): Promise<Line[]> {
  const last = Math.max(MIDDLE, Math.round(LAST * scale));
  const env = { GX_PYTHON: `${await pythonTools()}/python` };
  const server = await checkout.start({
    database: await databases.fresh(),
    config: 'python.json',
    env,
  });
  try {
    const warm = await createThread(server);
    for (let run = 0; run < WARM; run += 1) await wait(server, warm);
    const thread = await createThread(server);
    const times: number[] = [];
    let stored = 0;
    let content = 0;
    for (let run = 1; run <= last; run += 1) {
      const started = performance.now();
      const state = await waitForText(server, thread);
      times.push(performance.now() - started);
      if (run === MIDDLE) [stored, content] = [await storedBytes(server, thread), state.length];
    }
    return linesOf(times, stored, content);
  } finally {
    await server.stop();
  }
}

function linesOf(times: number[], stored: number, content: number): Line[] {
  const [first, middle, last] = [at(times, AROUND), at(times, MIDDLE), at(times, times.length)];
  const ratio = middle / first;
  return [
    { what: 'a run of the first 20, p50', figure: ms(first) },
    { what: `run ${MIDDLE}`, figure: ms(middle) },
    {
      what: 'the run to one of the first 20',
      figure: `${ratio.toFixed(2)}x`,
      verdict: { goal: `<= ${TIMES}x`, met: ratio <= TIMES },
    },
    {
      what: `run ${times.length}`,
      figure: ms(last),
      verdict: { goal: `<= ${MOST_MS} ms`, met: last <= MOST_MS },
    },
    {
      what: `stored after ${MIDDLE} runs, whose state is ${kilobytes(content)} of JSON`,
      figure: kilobytes(stored),
      verdict: { goal: `<= ${kilobytes(MOST_STORED)}`, met: stored <= MOST_STORED },
    },
  ];
}
