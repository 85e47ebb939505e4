import type { StudioAgent } from '../agent.ts';
import type { CasedRun } from './test-case.ts';

/** Runs of a thread that a test case may have. */
const MOST = 1000;
/** The fields of a run's call that another agent can repeat. */
const SENT = ['input', 'command', 'context'];

/** Reads the runs of a thread with their inputs, which stay as they were sent. */
export async function readCasedRuns(agent: StudioAgent, thread: string, signal: AbortSignal): Promise<CasedRun[]> {
  const query = { limit: MOST, select: ['created_at', 'assistant_id', 'kwargs'] };
  const json = await agent.scanned(`threads/${encodeURIComponent(thread)}/runs`, { query, signal });
  const runs: CasedRun[] = [];
  for (const node of (await json.children(json.root, signal)).found) {
    const kwargs = await json.child(node, 'kwargs', signal);
    const sent: CasedRun['sent'] = {};
    for (const name of SENT) {
      const part = await json.child(kwargs, name, signal);
      if (part !== undefined) sent[name] = json.slice(part);
    }
    const textOf = async (name: string): Promise<string> => {
      const value = json.small(await json.child(node, name, signal));
      return typeof value === 'string' ? value : '';
    };
    runs.push({ madeAt: await textOf('created_at'), assistant: await textOf('assistant_id'), sent });
  }
  return runs;
}
