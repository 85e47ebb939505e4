import { describe, expect, test } from 'vitest';
import { formatLogLine } from '../../../src/log.ts';

const line = (fields: object): string =>
  formatLogLine(
    JSON.stringify({
      level: 'info',
      time: '2026-11-21T10:43:38.123Z',
      process: 'dev',
      msg: 'reloaded',
      ...fields,
    }),
  );

describe('a log line for a person', () => {
  test('time, level, message, data', () => {
    expect(line({ changed: 'graph.ts', graphs: ['echo'] })).toBe(
      '10:43:38 info  reloaded changed=graph.ts graphs=["echo"]',
    );
  });

  test('a warning tells what went wrong, an error also where', () => {
    const err = { message: 'gone', stack: 'Error: gone\n    at here' };
    expect(line({ level: 'warn', err })).toBe('10:43:38 warn  reloaded: gone');
    const caused = { message: 'It does not answer.: too late' };
    expect(line({ level: 'warn', err: caused })).toBe(
      '10:43:38 warn  reloaded: It does not answer: too late',
    );
    expect(line({ level: 'error', err })).toBe('10:43:38 error reloaded: Error: gone\n    at here');
  });

  const own = '  File "/project/graph.py", line 3, in node\n    ask()';
  const library = (name: string): string =>
    `  File "/project/.venv/lib/python3.12/site-packages/${name}.py", line 9, in run\n    raise it\n    ^^^^^`;
  const first = 'Error: gone\n    at ask (/project/graph.ts:3:4)';

  test.each([
    [
      `${library('a')}\n${library('b')}\n${own}\n${library('c')}`,
      `  ... 2 frames of libraries\n${own}\n  ... 1 frame of libraries`,
    ],
    [
      `${library('a')}\n${library('b')}\n${library('c')}`,
      `${library('a')}\n  ... 1 frame of libraries\n${library('c')}`,
    ],
    [
      `  File "<frozen importlib._bootstrap>", line 1204, in _gcd_import\n${own}`,
      `  ... 1 frame of libraries\n${own}`,
    ],
    [
      `${first}\n    at run (file:///project/node_modules/a/b.js:1:2)\n    at node:internal/process:1:2\ncaused by: TypeError: x`,
      `${first}\n  ... 2 frames of libraries\ncaused by: TypeError: x`,
    ],
    [
      `Error: gone\n    at f (/p/node_modules/a.js:1:2)\n    at Array.map (<anonymous>)\n    at g (/p/graph.ts:3:4)`,
      `Error: gone\n  ... 2 frames of libraries\n    at g (/p/graph.ts:3:4)`,
    ],
    [
      `Error: gone\n    at f (/p/node_modules/zod/a.js:1:2)\n    at g (/p/node_modules/b/c.js:3:4)\n    at node:internal/x:1:2`,
      `Error: gone\n    at f (/p/node_modules/zod/a.js:1:2)\n    at g (/p/node_modules/b/c.js:3:4)\n  ... 1 frame of libraries`,
    ],
  ])('a stack has the frames of the project: %#', (stack, shown) => {
    expect(line({ level: 'error', err: { message: 'gone', stack: `gone\n${stack}` } })).toBe(
      `10:43:38 error reloaded: gone\n${shown}`,
    );
    expect(line({ msg: `it waits\n${stack}` })).toBe(`10:43:38 info  it waits\n${shown}`);
  });

  test.each(['hello', '{"level":30,"time":1700000000000,"msg":"of another log"}', '[1]', 'null'])(
    'a line that is not of the log stays as it is: %s',
    (text) => expect(formatLogLine(text)).toBe(text),
  );

  test('a line with a sentence for people shows that and none of its data', () => {
    const says = 'langgraph.json: .env is not there: cp .env.example .env, then fill it in';
    expect(line({ level: 'warn', file: '/p/langgraph.json', name: 'env', says })).toBe(
      `10:43:38 warn  ${says}`,
    );
  });

  test('a line that a graph prints has its graph and node, and no ids', () => {
    const ids = { run_id: 'r', thread_id: 't', request_id: 'q', trace_id: 'x' };
    expect(
      line({ source: 'graph', graph_id: 'agent', node: 'answer', msg: 'printed here', ...ids }),
    ).toBe('10:43:38 info  agent/answer  printed here');
    expect(line({ graph_id: 'agent', msg: 'run started', ...ids })).toBe(
      '10:43:38 info  agent  run started run_id=r thread_id=t',
    );
  });
});
