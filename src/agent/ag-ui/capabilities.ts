import { NotFound } from '../../errors.ts';
import type { Json } from '../../schema/json.ts';
import { askPermission, type AgentCaller } from '../auth/caller.ts';
import { getAssistants, searchAssistants } from '../db/assistants/assistants.ts';
import { resolveAssistantId } from '../kernel/ids.ts';
import { readVersions } from '../kernel/versions.ts';
import type { AgentDeps } from '../parts/deps.ts';
import { permitAssistant } from '../runs/making/permit-run.ts';

/** Agents that a list has at most. */
const MOST_AGENTS = 1000;

/** Returns the capabilities of an assistant. Throws `NotFound`, also for one that the caller may not see. */
export async function buildCapabilities(
  { db, graphs }: AgentDeps,
  assistant: string,
  caller: AgentCaller,
): Promise<Json> {
  const assistant_id = resolveAssistantId(assistant, graphs, 'path');
  const [found] = await getAssistants(
    db,
    [assistant_id],
    await permitAssistant({ caller, graphs }, assistant_id),
  );
  if (found === undefined || !graphs.includes(found.graph_id))
    throw new NotFound(`Assistant with ID ${assistant_id} not found`);
  const { name, description, version } = found;
  return {
    identity: {
      name,
      type: 'langgraph',
      ...(description && { description }),
      version: String(version),
      provider: `gx-platform ${readVersions().version}`,
      metadata: { assistant_id },
    },
    transport: { streaming: true },
    tools: { supported: true, parallelCalls: true, clientProvided: true },
    state: { snapshots: true, deltas: true, persistentState: true },
    multiAgent: { supported: true },
    reasoning: { supported: true, streaming: true, encrypted: true },
    humanInTheLoop: { supported: true, approvals: true, interrupts: true },
  };
}

/** Returns the agents that the caller may see, each with the address of its door. */
export async function listAgents(
  { db, graphs }: AgentDeps,
  caller: AgentCaller,
  address: string,
): Promise<Json[]> {
  const { permits } = await askPermission(caller, 'assistants:search', {
    metadata: {},
    limit: MOST_AGENTS,
    offset: 0,
  });
  const order = { sort_by: 'created_at', sort_order: 'asc' } as const;
  const found = await searchAssistants(db, {
    metadata: {},
    limit: MOST_AGENTS,
    offset: 0,
    graphs,
    seen: permits,
    ...order,
  });
  return found.map(({ assistant_id, name, description }) => ({
    id: assistant_id,
    name,
    ...(description && { description }),
    url: `${address}/ag-ui/${assistant_id}`,
  }));
}
