import { toError, Problem } from '../../../errors.ts';
import type { RolloutGate } from '../../../schema/wire/rollout-plan.ts';
import type { GateReport } from '../../../schema/wire/work-report.ts';
import type { AgentCaller } from '../../auth/caller.ts';
import { createId } from '../../kernel/ids.ts';
import { buildContentKey } from '../../kernel/request-key.ts';
import { createRuns, type CreateDeps } from './create-run.ts';
import { loadEarlierRuns } from './earlier-run.ts';

/** The platform asks, whom no handler of the deployment knows. */
const CALLER: AgentCaller = { identity: 'gx-gate', source: 'the platform' };

/** The run that a revision must end with success before it gets a share of the threads. */
export class GateRun {
  readonly #deps: CreateDeps;
  #made: { id: string; runId: string } | undefined;

  constructor(deps: CreateDeps) {
    this.#deps = deps;
  }

  /** Makes the run of a gate, unless this or another process has made it. Returns its status. Never throws. */
  async look(gate: RolloutGate): Promise<GateReport> {
    try {
      const [run] =
        this.#made?.id === gate.id
          ? await loadEarlierRuns(this.#deps, [this.#made.runId], CALLER)
          : await this.#make(gate);
      if (run === undefined) return { id: gate.id, status: 'pending' };
      this.#made = { id: gate.id, runId: run.run_id };
      return {
        id: gate.id,
        status: run.status,
        message: `run ${run.run_id} of thread ${run.thread_id}`,
      };
    } catch (error) {
      // A database that is away comes back; a request that is refused stays so.
      const isRefused = error instanceof Problem && error.status < 500 && error.status !== 429;
      return {
        id: gate.id,
        status: isRefused ? 'error' : 'pending',
        message: toError(error).message.slice(0, 512),
      };
    }
  }

  #make({ id, assistant, input }: RolloutGate) {
    const body = {
      assistant_id: assistant,
      input,
      on_completion: 'keep' as const,
      metadata: { gate: id },
    };
    const call = { requestId: createId(), headers: {}, forwarded: {}, caller: CALLER };
    return createRuns(this.#deps, [body], {
      call,
      key: buildContentKey({ identity: CALLER.identity, route: 'gate' }, id),
    });
  }
}
