import { pythonTools } from '../../python/tools.ts';
import { besideOpen, CALLED, CALLS, subject, type Setting, type Subject } from './guarded.ts';
import { call } from './http.ts';
import type { Line } from './report.ts';

/** What a call that handlers in Python guard may cost more than one that handlers in JavaScript do. */
const GUARDED = 0.5;
/** What a route of an application in Python may cost more than a built-in one. */
const OWN = 1;

const lineOf = (what: string, [before, after]: [number, number], atMost: number): Line => ({
  what: `${what}: ${before.toFixed(2)} ms, ${after.toFixed(2)} ms`,
  figure: `${(after - before).toFixed(2)} ms more`,
  verdict: { goal: `<= ${atMost} ms more`, met: after - before <= atMost },
});

/** Measures what handlers and applications in Python add to a call. */
export async function measureGuardedPython(setting: Setting): Promise<Line[]> {
  const calls = Math.round(CALLS * setting.scale);
  const env = { GX_PYTHON: `${await pythonTools()}/python` };
  const subjects: Subject[] = [];
  const add = async (config: string): Promise<Subject> => {
    const one = await subject(setting, config, env);
    subjects.push(one);
    return one;
  };
  const lines: Line[] = [];
  try {
    const javascript = await add('guarded.json');
    const python = await add('guarded-python.json');
    for (const [what, ask] of Object.entries(CALLED))
      lines.push(
        lineOf(
          `${what}, guarded in JavaScript and in Python`,
          await besideOpen(javascript, python, ask, calls),
          GUARDED,
        ),
      );
    const routes = await add('routes-python.json');
    const ask = ({ server }: Subject): Promise<unknown> =>
      call(`${server.url}/${server === routes.server ? 'hello' : 'info'}`);
    lines.push(
      lineOf(
        'a built-in route, and one of http.app in Python',
        await besideOpen(javascript, routes, ask, calls),
        OWN,
      ),
    );
  } finally {
    for (const { server } of subjects) await server.stop();
  }
  return lines;
}
