import type { AgentCaller } from '../auth/caller.ts';
import { NotFound } from '../../errors.ts';
import type { Assistant } from '../../schema/agent/assistant.ts';
import type { AgentCall } from '../auth/caller.ts';
import { getAssistants } from '../db/assistants/assistants.ts';
import type { Patterns } from '../db/base/permits.ts';
import type { AgentDeps } from '../parts/deps.ts';
import { GraphInputs } from '../graph-types/graph-inputs.ts';
import { resolveAssistantId } from '../kernel/ids.ts';
import { permitAssistant } from '../runs/making/permit-run.ts';
import { readVersions } from '../kernel/versions.ts';
import { buildAgentCard, readInputKind, type Takes } from './agent-card.ts';
import type { Door } from './security-schemes.ts';

type DescribedAssistant = {
  assistant: Assistant;
  takes: Takes;
};

/** Milliseconds for which an assistant is remembered, so that a message costs no look at it. */
const KNOWN_FOR = 5000;
/** Assistants that are remembered at most. */
const MOST_KNOWN = 1000;

export class Cards {
  readonly #deps: AgentDeps;
  readonly #door: Door;
  readonly #inputs: GraphInputs;
  /** Assistants that were found, for all callers with the same permissions. */
  readonly #known = new Map<string, DescribedAssistant & { at: number }>();

  constructor(deps: AgentDeps, door: Door) {
    this.#deps = deps;
    this.#door = door;
    this.#inputs = new GraphInputs(deps);
  }

  /** Returns an assistant, or a graph's own, as it was within the last seconds. Throws as `of` does. */
  async loadRecent(
    assistant: string,
    { caller }: { caller: AgentCaller },
  ): Promise<DescribedAssistant> {
    const { graphs } = this.#deps;
    const assistant_id = resolveAssistantId(assistant, graphs, 'path');
    const seen = await permitAssistant({ caller, graphs }, assistant_id);
    const key = JSON.stringify([assistant_id, seen]);
    const before = this.#known.get(key);
    if (before !== undefined && performance.now() - before.at < KNOWN_FOR) return before;
    const found = await this.#find(assistant_id, seen);
    if (this.#known.size >= MOST_KNOWN) this.#known.clear();
    this.#known.set(key, { ...found, at: performance.now() });
    return found;
  }

  /** Returns the card of an assistant, or of a graph's own. Throws `NotFound`, also for one that may not be seen. */
  async loadCard(
    assistant: string,
    { caller, ...request }: AgentCall,
  ): Promise<Record<string, unknown>> {
    const { graphs } = this.#deps;
    const assistant_id = resolveAssistantId(assistant, graphs, 'path');
    const found = await this.#find(
      assistant_id,
      await permitAssistant({ caller, graphs }, assistant_id),
    );
    return this.buildCard(found, request);
  }

  buildCard(
    known: DescribedAssistant,
    request: Omit<AgentCall, 'caller'>,
  ): Record<string, unknown> {
    const { requests, webhooks } = this.#deps;
    const { version } = readVersions();
    return buildAgentCard({
      ...known,
      address: requests.address(request),
      version,
      pushes: webhooks.enabled,
      door: this.#door,
    });
  }

  async #find(assistant_id: string, seen: Patterns): Promise<DescribedAssistant> {
    const { db, graphs } = this.#deps;
    const [assistant] = await getAssistants(db, [assistant_id], seen);
    if (assistant === undefined || !graphs.includes(assistant.graph_id))
      throw new NotFound(`Assistant with ID ${assistant_id} not found`);
    return { assistant, takes: readInputKind(await this.#inputs.readSchema(assistant.graph_id)) };
  }
}
