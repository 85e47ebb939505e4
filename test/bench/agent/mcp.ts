import { input } from './api.ts';
import { measureBesideWaits, type Work } from './beside-waits.ts';
import { call } from './http.ts';
import type { Line } from './report.ts';
import type { BenchServer } from './servers.ts';

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

async function called({ url }: BenchServer): Promise<void> {
  const params = { name: 'echo', arguments: input, _meta: META };
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
  const { result } = await call<{ result?: { isError?: boolean } }>(`${url}/mcp`, body, HEADERS);
  if (result?.isError !== false) throw new Error('the call of the tool failed');
}

/** Measures what a call of a tool takes beside a wait for the same run, in turns. */
export const measureMcp = (work: Work): Promise<Line[]> =>
  measureBesideWaits(work, { what: 'tools/call', called });
