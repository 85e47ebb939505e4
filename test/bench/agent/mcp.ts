import { input } from './api.ts';
import type { Checkout } from './checkout.ts';
import type { Databases } from './databases.ts';
import { call } from './http.ts';
import { median } from './load.ts';
import type { Line } from './report.ts';
import type { BenchServer } from './servers.ts';

/** Calls of each kind, and as many before them so that the code is warm. */
const CALLS = 500;

/** What a call of a tool may take: this many times a wait for the same run, or so many milliseconds more. */
const AT_MOST = { times: 1.25, more: 3 };

const NEWER = '2026-07-28';
const META = {
  'io.modelcontextprotocol/protocolVersion': NEWER,
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
};
const HEADERS = {
  accept: 'application/json, text/event-stream',
  'mcp-protocol-version': NEWER,
  'mcp-method': 'tools/call',
  'mcp-name': 'echo',
};

const waited = ({ url }: BenchServer): Promise<unknown> => call(`${url}/runs/wait`, { assistant_id: 'echo', input });

async function called({ url }: BenchServer): Promise<void> {
  const params = { name: 'echo', arguments: input, _meta: META };
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
  const { result } = await call<{ result?: { isError?: boolean } }>(`${url}/mcp`, body, HEADERS);
  if (result?.isError !== false) throw new Error('the call of the tool failed');
}

type Work = { checkout: Checkout; databases: Databases; scale: number };

/** Measures what a call of a tool takes beside a wait for the same run, in turns. */
export async function measureMcp({ checkout, databases, scale }: Work): Promise<Line[]> {
  const server = await checkout.start({ database: await databases.fresh(), config: 'gx.json' });
  const calls = Math.round(CALLS * scale);
  const times = { waited: [] as number[], called: [] as number[] };
  try {
    for (let index = 0; index < 2 * calls; index += 1)
      for (const kind of index % 2 === 0 ? (['waited', 'called'] as const) : (['called', 'waited'] as const)) {
        const started = performance.now();
        await (kind === 'waited' ? waited(server) : called(server));
        if (index >= calls) times[kind].push(performance.now() - started);
      }
  } finally {
    await server.stop();
  }
  const [wait, tool] = [median(times.waited), median(times.called)];
  const met = tool <= AT_MOST.times * wait || tool <= wait + AT_MOST.more;
  return [
    {
      what: `tools/call of the echo graph: ${tool.toFixed(2)} ms, a stateless runs/wait: ${wait.toFixed(2)} ms`,
      figure: `${(tool / wait).toFixed(2)}x, ${(tool - wait).toFixed(2)} ms more`,
      verdict: { goal: `<= ${AT_MOST.times}x or ${AT_MOST.more} ms more`, met },
    },
  ];
}
