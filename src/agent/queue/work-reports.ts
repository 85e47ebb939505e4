import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { WorkReportSettings } from '../../config/agent/work-reports.ts';
import { toError, Unavailable } from '../../errors.ts';
import { readJsonAnswer } from '../../http/bodies/bounded-answer.ts';
import type { Log } from '../../log.ts';
import { Pause, sleepUnlessAborted } from '../../pause.ts';
import { CURRENT_KEY } from '../../schema/wire/agent-key.ts';
import {
  readRolloutPlan,
  type RolloutGate,
  type RolloutPlan,
} from '../../schema/wire/rollout-plan.ts';
import {
  REPORT_EVERY,
  type GateReport,
  type QueueWork,
  type ServerFacts,
  type WorkReport,
  REPORT_LIFE,
} from '../../schema/wire/work-report.ts';
import {
  readTenantBudgets,
  type ReportedUsage,
  type TenantBudget,
} from '../../schema/wire/reported-usage.ts';
import type { RunCounts } from '../../schema/wire/run-counts.ts';
import { keepRolloutPlan } from '../db/runs/revisions.ts';
import { queueWork } from '../db/runs/work.ts';
import type { Database } from '../db/base/pool.ts';
import { isClientSignedBy } from '../../http/callers/signed-client.ts';
import type { AskedOver } from '../../http/callers/client.ts';
import { filterGatewayKeys } from '../../schema/wire/gateway-key.ts';

/** Milliseconds from a change to its report: several changes make one. */
const SOON = 100;
/** Milliseconds between two reports at least. */
const PACE = 1000;
/** Milliseconds between two looks at a queue with work in it, which other processes change. */
const BUSY = 5000;
/** The same while a revision is tried out, so that all processes hear of its share within 2 s. */
const TRYING = 1000;
/**
 * Milliseconds after a report that did not arrive: they double up to the second number. A rollout waits 5 s for the
 * first report, which a gateway refuses while it starts.
 */
const RETRY = { first: 500, longest: 5000 };
/** Milliseconds that one report may take, and the last one of a process that stops. */
const PATIENCE = 3000;
/** Bytes of an answer: it has the plan of 32 revisions and the input of a gate. */
const MAX_ANSWER_BYTES = 262_144;

type Options = {
  to: NonNullable<WorkReportSettings>;
  db: Database;
  worker: string;
  /** Runs that it takes at a time. */
  slots: number;
  crons: boolean;
  /** Returns the counts of the runs that have ended here, and of those under way. */
  runCounts: () => RunCounts[];
  /** Returns the sums of the calls of models; undefined where none are recorded. */
  readUsage: (isLast: boolean) => Promise<ReportedUsage | undefined>;
  /** Called with the budgets that the deployment shares with others of its tenant, where an answer has some. */
  heardBudgets: (budgets: TenantBudget[]) => Promise<void>;
  /** Returns true while a client holds a stream or a wait open here. */
  isAsked: () => boolean;
  /** Called with true while a revision is tried out. */
  compared: (isCompared: boolean) => void;
  /** Called when this process has brought a newer plan to the database. */
  planned: () => void;
  log: Log;
};

/** `server`: undefined for one outside of the platform. `gate`: makes the run of a gate, and returns how it stands. */
type Reporting = {
  server: ServerFacts | undefined;
  gate: (gate: RolloutGate) => Promise<GateReport>;
};

/**
 * Reports the work of this process to the platform, and facts of its server. One that only answers requests tells how
 * the queue stands, with one statement at a change and every half minute; one that executes runs tells only how many it
 * takes.
 */
export class WorkReports {
  readonly #options: Options;
  /** The word of the gateway about clients whose requests it passes on. */
  readonly gateway: GatewayWord;
  #changed = false;
  readonly #pause = new Pause();
  #askedAt = performance.now();
  /** Reports in a row that did not arrive. */
  #lost = 0;
  #server: ServerFacts | undefined;
  #last: QueueWork | undefined;
  #plannedAt: string | undefined;
  #compared: string[] = [];
  #gate: Reporting['gate'] | undefined;
  /** The gate that this revision is at. */
  #isAt: RolloutGate | undefined;

  constructor(options: Options) {
    this.#options = options;
    this.gateway = new GatewayWord(options.to.url);
  }

  /** Says that a run was made, so that workers may be missing. */
  noteChange(): void {
    if (this.#options.slots === 0) this.reportNow();
  }

  /** Reports now, because the answer has news: another process has heard of a newer plan. */
  reportNow(): void {
    this.#changed = true;
    this.#pause.end();
  }

  noteAnswered(): void {
    this.#askedAt = performance.now();
  }

  /** Reports until the signal, at once and then from time to time. Never throws. */
  async run({ server, gate }: Reporting, signal: AbortSignal): Promise<void> {
    this.#server = server;
    this.#gate = gate;
    signal.addEventListener('abort', () => this.#pause.end());
    // Nobody could ask while it started, and the one it was started for is about to.
    this.noteAnswered();
    while (!signal.aborted) {
      this.#changed = false;
      const arrived = await this.#report();
      await sleepUnlessAborted(
        arrived ? PACE : Math.min(RETRY.longest, RETRY.first * 2 ** (this.#lost - 1)),
        signal,
      );
      if (!arrived || this.#changed || signal.aborted) continue;
      await this.#pause.waitFor(
        this.#compared.length > 0 ? TRYING : this.#isBusy ? BUSY : REPORT_EVERY * 1000,
        { ref: false },
      );
      await sleepUnlessAborted(SOON, signal);
    }
  }

  /**
   * Reports once more, before the process ends: a run that was made last must not wait for somebody to look at a
   * deployment that goes to sleep.
   */
  async leave(): Promise<void> {
    await this.#report({ leaves: true });
  }

  get #isBusy(): boolean {
    return (
      this.#last !== undefined && this.#last.due + this.#last.running + this.#last.webhooks > 0
    );
  }

  /** Returns true if the report arrived. A failure is logged once, until one succeeds. */
  async #report(more: { leaves?: boolean } = {}): Promise<boolean> {
    const { to, log } = this.#options;
    try {
      const report = { ...(await this.#buildReport(more)), ...more };
      const key = (await readFile(path.join(to.keyFolder, CURRENT_KEY), 'utf8')).trim();
      const answer = await fetch(to.url, {
        method: 'POST',
        headers: { 'x-api-key': key, 'content-type': 'application/json' },
        body: JSON.stringify(report),
        signal: AbortSignal.timeout(PATIENCE),
        redirect: 'error',
      });
      const isJson = answer.headers.get('content-type')?.startsWith('application/json') === true;
      const heard = isJson
        ? await readJsonAnswer(answer, MAX_ANSWER_BYTES)
        : await answer.body?.cancel();
      if (!answer.ok) throw new Unavailable(`the gateway answers ${answer.status}`);
      this.gateway.handleAnswer(heard);
      await this.#keepPlan(heard);
      await this.#keepBudgets(heard);
      this.#lost = 0;
      return true;
    } catch (error) {
      if (this.#lost === 0)
        log.warn({ err: toError(error) }, 'work could not be reported; this will be tried again');
      this.#lost += 1;
      return false;
    }
  }

  /** Keeps the plan of an answer in the database, so that all processes follow it while the platform is away. */
  async #keepPlan(heard: unknown): Promise<void> {
    const { db, log } = this.#options;
    const plan = readRolloutPlan((heard as { rollout?: unknown } | null | undefined)?.rollout);
    this.#follow(plan);
    if (plan === undefined || plan.made_at === this.#plannedAt) return;
    try {
      if (await keepRolloutPlan(db, plan)) this.#options.planned();
      this.#plannedAt = plan.made_at;
      // The work of each revision is counted as soon as it is known which of them live.
      this.#changed = true;
    } catch (error) {
      log.debug(
        { err: toError(error) },
        'the plan of the revisions could not be kept; the next answer brings it again',
      );
    }
  }

  /** Passes on how budgets stand that deployments share. An answer without them says nothing of them. */
  async #keepBudgets(heard: unknown): Promise<void> {
    const { heardBudgets, log } = this.#options;
    const budgets = readTenantBudgets((heard as { budgets?: unknown } | null | undefined)?.budgets);
    if (budgets === undefined) return;
    await heardBudgets(budgets).catch((error: unknown) =>
      log.debug(
        { err: toError(error) },
        'the budgets of the tenant could not be kept; the next answer brings them again',
      ),
    );
  }

  #follow(plan: RolloutPlan | undefined): void {
    const candidate = plan?.candidate;
    this.#compared =
      plan === undefined || candidate === undefined ? [] : [candidate.revision, plan.current];
    this.#options.compared(candidate !== undefined);
    this.#isAt = candidate?.revision === this.#server?.revision ? candidate?.gate : undefined;
  }

  async #readGate(): Promise<Pick<WorkReport, 'gate'>> {
    if (this.#isAt === undefined || this.#gate === undefined) return {};
    return { gate: await this.#gate(this.#isAt) };
  }

  async #buildReport({ leaves = false }): Promise<WorkReport> {
    const { db, worker, slots, crons, runCounts, isAsked, readUsage } = this.#options;
    if (isAsked()) this.noteAnswered();
    const idle = Math.round((performance.now() - this.#askedAt) / 1000);
    const own = {
      from: worker,
      slots,
      idle_seconds: idle,
      ...(this.#server && { server: this.#server }),
      ...(this.#compared.length > 0 && {
        ended: runCounts().filter(({ revision }) => this.#compared.includes(revision)),
      }),
      ...(await this.#readGate()),
    };
    if (slots > 0) return own;
    const usage = await readUsage(leaves);
    this.#last = { ...(await queueWork(db, { crons })), ...(usage && { usage }) };
    // Work counts as if somebody asked for it, so that a deployment rests for a while after its last run.
    if (this.#isBusy) this.noteAnswered();
    return { ...own, idle_seconds: this.#isBusy ? 0 : idle, queue: this.#last };
  }
}

/**
 * The word of the gateway about the clients whose requests it passes on. Its answers to reports tell the keys by which
 * it signs, which count for as long as a report does.
 */
class GatewayWord {
  readonly #of: string;
  #keys: string[] = [];
  #heardAt = -Infinity;

  /** `url`: where the work is reported. Its path names the deployment. */
  constructor(url: string) {
    this.#of = new URL(url).pathname;
  }

  /** Takes the body of an answer. One of an earlier gateway has no keys. */
  handleAnswer(answer: unknown): void {
    this.#keys = filterGatewayKeys(
      (answer as { gateway_keys?: unknown } | null | undefined)?.gateway_keys,
    );
    this.#heardAt = performance.now();
  }

  /** Returns whether the gateway has passed this request on, with these words about its client. */
  hasSigned(asked: AskedOver): boolean {
    if (this.#keys.length === 0 || performance.now() - this.#heardAt > REPORT_LIFE * 1000)
      return false;
    return isClientSignedBy(this.#keys, asked, { of: this.#of, at: Date.now() / 1000 });
  }
}
