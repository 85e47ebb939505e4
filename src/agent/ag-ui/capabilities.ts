import { NotFound } from '../../errors.ts';
import type { Assistant } from '../../schema/agent/assistant.ts';
import type { Json } from '../../schema/json.ts';
import { askPermission, type AgentCaller } from '../auth/caller.ts';
import { getAssistants, searchAssistants } from '../db/assistants/assistants.ts';
import { resolveAssistantId } from '../kernel/ids.ts';
import { readVersions } from '../kernel/versions.ts';
import type { AgentDeps } from '../parts/deps.ts';
import { permitAssistant } from '../runs/making/permit-run.ts';

/** Agents that a list has at most. */
const MAX_AGENTS = 1000;

/** The paths of CopilotKit's runtime are those of this version. */
const COPILOTKIT = '1.75.0';

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
  deps: AgentDeps,
  caller: AgentCaller,
  address: string,
): Promise<Json[]> {
  const found = await searchAgents(deps, caller);
  return found.map(({ assistant_id, name, description }) => ({
    id: assistant_id,
    name,
    ...(description && { description }),
    url: `${address}/ag-ui/${assistant_id}`,
  }));
}

/** Returns the agents that the caller may see, by name, in the form that pages of CopilotKit ask for. */
export async function describeRuntime(deps: AgentDeps, caller: AgentCaller): Promise<Json> {
  const found = await searchAgents(deps, caller);
  const agents = found.map(({ assistant_id, graph_id, description }): [string, Json] => {
    // The assistant of a graph has the graph's name, and others may have the same name as another one.
    const isOfGraph = resolveAssistantId(graph_id!, deps.graphs, 'path') === assistant_id;
    const id = (isOfGraph ? graph_id : assistant_id)!;
    return [id, { name: id, description: description ?? '', className: 'HttpAgent' }];
  });
  return {
    version: COPILOTKIT,
    agents: Object.fromEntries(agents),
    mode: 'sse',
    audioFileTranscriptionEnabled: false,
    a2uiEnabled: false,
    openGenerativeUIEnabled: false,
    suggestions: false,
    telemetryDisabled: true,
  };
}

async function searchAgents(
  { db, graphs }: AgentDeps,
  caller: AgentCaller,
): Promise<Partial<Assistant>[]> {
  const { permits } = await askPermission(caller, 'assistants:search', {
    metadata: {},
    limit: MAX_AGENTS,
    offset: 0,
  });
  const order = { sort_by: 'created_at', sort_order: 'asc' } as const;
  return searchAssistants(db, {
    metadata: {},
    limit: MAX_AGENTS,
    offset: 0,
    graphs,
    seen: permits,
    ...order,
  });
}
