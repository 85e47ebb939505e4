import type { ListToolsResult } from '@modelcontextprotocol/server';
import { Invalid } from '../../errors.ts';
import { askPermission, type AgentCaller } from '../auth/caller.ts';
import {
  findAssistantTool,
  listAssistantTools,
  type AssistantTool,
} from '../db/assistants/assistant-tools.ts';
import type { AssistantFilters } from '../db/assistants/assistants.ts';
import type { AgentDeps } from '../parts/deps.ts';
import { GraphInputs } from '../graph-types/graph-inputs.ts';
import { buildTool } from './tool-form.ts';

/** Tools in one answer. */
const PAGE = 100;
/** Milliseconds for which a name stands for the same assistant. */
const FOUND_FOR = 5000;
/** Names that are remembered at most. */
const MOST_FOUND = 1000;

export class Tools {
  readonly #deps: AgentDeps;
  readonly #inputs: GraphInputs;

  /** The tools of names, for all callers with the same permissions. A run's own permission is checked each time. */
  readonly #found = new Map<string, { tool: AssistantTool; at: number }>();

  constructor(deps: AgentDeps) {
    this.#deps = deps;
    this.#inputs = new GraphInputs(deps);
  }

  /** Returns a page of tools in the order of their names. Throws `Invalid` for a cursor that no page had. */
  async list(caller: AgentCaller, cursor: string | undefined): Promise<ListToolsResult> {
    const visible = await this.#permitSearch(caller);
    const after = cursor === undefined ? undefined : decodeCursor(cursor);
    const rows = await listAssistantTools(this.#deps.db, visible, { after, limit: PAGE + 1 });
    const shown = rows.slice(0, PAGE);
    const tools = await Promise.all(
      shown.map(async (row) => buildTool(row, await this.#inputs.readSchema(row.graph_id))),
    );
    return { tools, ...(rows.length > PAGE && { nextCursor: encodeCursor(shown.at(-1)!) }) };
  }

  async find(caller: AgentCaller, name: string): Promise<AssistantTool | undefined> {
    const visible = await this.#permitSearch(caller);
    const key = JSON.stringify([name, visible.metadata, visible.seen]);
    const known = this.#found.get(key);
    if (known !== undefined && performance.now() - known.at < FOUND_FOR) return known.tool;
    const tool = await findAssistantTool(this.#deps.db, visible, name);
    if (this.#found.size >= MOST_FOUND) this.#found.clear();
    if (tool !== undefined) this.#found.set(key, { tool, at: performance.now() });
    return tool;
  }

  async #permitSearch(
    caller: AgentCaller,
  ): Promise<Pick<AssistantFilters, 'metadata' | 'graphs' | 'seen'>> {
    const { value, permits } = await askPermission(caller, 'assistants:search', { metadata: {} });
    return { metadata: value.metadata, graphs: this.#deps.graphs, seen: permits };
  }
}

const encodeCursor = ({ tool }: AssistantTool): string => Buffer.from(tool).toString('base64url');

function decodeCursor(cursor: string): string {
  const name = Buffer.from(cursor, 'base64url').toString();
  if (!/^[\w-]{1,64}$/.test(name))
    throw new Invalid([
      { loc: ['params', 'cursor'], msg: 'is not one of this server', type: 'value_error' },
    ]);
  return name;
}
