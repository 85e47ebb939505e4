import { NotFound } from '../../errors.ts';
import type { Request } from '../../http/route.ts';
import type { AgentCaller } from '../auth/caller.ts';
import { getAssistants } from '../db/assistants.ts';
import type { AgentDeps } from '../deps.ts';
import { GraphInputs } from '../graph-types/graph-inputs.ts';
import { assistantIdOf } from '../ids.ts';
import { permitAssistant } from '../runs/permit-run.ts';
import { versions } from '../versions.ts';
import { agentCard, takenBy, type Takes } from './agent-card.ts';
import type { Door } from './security-schemes.ts';

type Deps = Pick<AgentDeps, 'db' | 'graphs' | 'host' | 'typedSchemas' | 'requests' | 'webhooks' | 'log'>;

/** An assistant as other agents know it. */
export type CardOfAssistant = { assistant_id: string; takes: Takes; card: Record<string, unknown> };

/** The cards of the assistants that a caller may read. */
export class Cards {
  readonly #deps: Deps;
  readonly #door: Door;
  readonly #inputs: GraphInputs;

  constructor(deps: Deps, door: Door) {
    this.#deps = deps;
    this.#door = door;
    this.#inputs = new GraphInputs(deps);
  }

  /** Returns the card of an assistant, or of a graph's own. Throws `NotFound`, also for one that may not be seen. */
  async of(
    assistant: string,
    { caller, headers }: Pick<Request<unknown, unknown, unknown, AgentCaller>, 'caller' | 'headers'>,
  ): Promise<CardOfAssistant> {
    const { db, graphs, requests, webhooks } = this.#deps;
    const assistant_id = assistantIdOf(assistant, graphs, 'path');
    const [found] = await getAssistants(db, [assistant_id], await permitAssistant({ caller, graphs }, assistant_id));
    if (found === undefined || !graphs.includes(found.graph_id)) throw new NotFound(`Assistant with ID ${assistant_id} not found`);
    const takes = takenBy(await this.#inputs.of(found.graph_id));
    const { version } = versions();
    return {
      assistant_id,
      takes,
      card: agentCard({ assistant: found, takes, address: requests.address(headers), version, pushes: webhooks.enabled, door: this.#door }),
    };
  }
}
