import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises';
import { toError } from '../../errors.ts';
import { readJsonAnswer } from '../../http/bodies/bounded-answer.ts';
import type { Log } from '../../log.ts';
import { filterServingWork, type WorkSummary } from '../../schema/wire/work-summary.ts';
import type { ReportedUsage } from '../../schema/wire/reported-usage.ts';
import { filterGatewayKeys } from '../../schema/wire/gateway-key.ts';
import {
  REPORTS_PATH,
  type GateReport,
  type ReportsAnswer,
  type ServerFacts,
} from '../../schema/wire/work-report.ts';
import { Paced } from './paced.ts';
import { decideDrain, type DrainingQueue, type DrainState } from './drain-scale.ts';
import { buildUnansweredQueries, type PromQueries } from './prom-queries.ts';
import { decideQueue, type QueueState, type Scalable } from './queue-scale.ts';
import { ArchiveLags, type Added, ReportedWork, type Lagged } from './reported-work.ts';
import type { RolloutCheck } from '../../schema/platform/rollout/rollout-trial.ts';
import {
  decideVerdict,
  listDueQueries,
  summarizeVerdict,
  type VerdictOnShare,
  type VerdictSituation,
  type VerdictState,
} from './verdict.ts';

/** Milliseconds between two looks, and those that a gateway has for its answer. */
const LOOK = 1000;
const PATIENCE = 900;

/** Milliseconds between two counts of one deployment's threads that are written, and between two sums of its usage. */
const COUNT_EVERY = 10_000;
const USAGE_EVERY = 60_000;

/** Bytes of a page: eight times as many as a gateway puts into one. */
const MAX_PAGE_BYTES = 4 * 1024 * 1024;
/** Pages of one gateway that one look reads at most: 16 MiB. */
const PAGES = 32;
/** Milliseconds of reading after which a look decides. The next one follows at once, and reads on from there. */
const READING_MS = 400;
/** Milliseconds of decisions after which others get their turn of the event loop. */
const SLICE_MS = 20;

/** A revision that is tried out, the one that serves, and how they are compared. */
export type Trial = {
  candidate: string;
  stable: string;
  share: number;
  checks: readonly RolloutCheck[];
  everySeconds: number;
};

export type FollowerOptions = {
  /** Returns where the gateways answer. */
  gateways: () => string[];
  /** Returns how a deployment (`namespace/name`) may be scaled. Undefined: its queue is not the platform's to scale. */
  scalable: (deployment: string) => Scalable | undefined;
  /** Returns the queues of the replaced revisions of a deployment that keep work. */
  draining: (deployment: string) => DrainingQueue[];
  /** Called when a replaced revision is to have another number of queue pods. */
  wakeDraining: (deployment: string, revision: string) => void;
  /** Returns the revision of a deployment that is tried out and has checks. */
  trial: (deployment: string) => Trial | undefined;
  queries: Pick<PromQueries, 'ask' | 'getAnswers' | 'dropAnswers'> | undefined;
  /** Returns true if this work may let the deployment fall asleep, or wake it. */
  concernsSleep: (deployment: string, summary: WorkSummary) => boolean;
  /** Returns how many threads wait for people by the status of a deployment. Undefined: nobody writes it now. */
  interrupted: (deployment: string) => number | undefined;
  /** Returns whether this usage of models is other than the status of a deployment says. */
  isUsageNews: (deployment: string, usage: ReportedUsage) => boolean;
  lagged: Lagged;
  wake: (deployment: string) => void;
  /** Called with the facts of a deployment's servers, by revision, when a process has reported others than before. */
  learned: (deployment: string, servers: ReadonlyMap<string, ServerFacts>) => void;
  /** Called after each look with the keys by which the gateways sign, once all of them have answered. */
  signs: (keys: string[], signal: AbortSignal) => Promise<void>;
  observer: { scaled: (direction: 'up' | 'down') => void; unread: () => void };
  downSeconds: number;
  log: Log;
  clock?: () => number;
};

/** The work that reconciles read. */
export type WorkView = {
  getSummary(deployment: string): WorkSummary | undefined;
  queue(deployment: string): QueueState | undefined;
  /** Returns how many queue pods a replaced revision is to have. Undefined while nothing was decided. */
  drain(deployment: string, revision: string): number | undefined;
  /** Returns the result of the checks of the revision that is tried out. Undefined while nobody has looked. */
  getVerdict(deployment: string): VerdictOnShare | undefined;
  getGateReport(deployment: string): GateReport | undefined;
  /** Returns the facts of a revision's server that were reported lately. */
  getServer(deployment: string, revision: string): ServerFacts | undefined;
};

/** The news of a page. `more`: there are further pages. */
type AddedPage = Added & { more: boolean };

const NOTHING: AddedPage = { deployments: [], learned: [], more: false };

/** Does something with each name, and lets others go first from time to time. */
async function visitInTurn(names: Iterable<string>, work: (name: string) => void): Promise<void> {
  let began = performance.now();
  for (const name of names) {
    work(name);
    if (performance.now() - began < SLICE_MS) continue;
    await nextTurn();
    began = performance.now();
  }
}

/**
 * Reads all reports that arrived at the gateways, every second and usually in one request to each, and decides how many
 * queue pods each deployment is to have. It wakes those whose decision changes. All of it is known again within half a
 * minute, so an operator that takes over needs nothing of the former one.
 */
export class WorkFollower implements WorkView {
  readonly #options: FollowerOptions;
  readonly #work: ReportedWork;
  readonly #states = new Map<string, QueueState>();
  /** By deployment and revision. */
  readonly #drains = new Map<string, Map<string, DrainState>>();
  /** The revisions that are tried out, by their deployment. */
  readonly #verdicts = new Map<string, { state: VerdictState; verdict: VerdictOnShare }>();
  /** The last words on the gates of deployments, as one text each. */
  readonly #gates = new Map<string, string>();
  /** The deployments that were woken for a count, and for their usage, of late. */
  readonly #counted = new Paced(COUNT_EVERY);
  readonly #used = new Paced(USAGE_EVERY);
  readonly #lags: ArchiveLags;
  readonly #pages = new Map<string, Pick<ReportsAnswer, 'instance' | 'cursor' | 'key'>>();
  /** Deployments with more pods than the least, which may have fewer with time alone. */
  readonly #raised = new Set<string>();
  readonly #clock: () => number;

  constructor(options: FollowerOptions) {
    this.#options = options;
    this.#clock = options.clock ?? Date.now;
    this.#work = new ReportedWork(options.trial);
    this.#lags = new ArchiveLags(
      (deployment) => this.getSummary(deployment)?.archiveLag,
      options.lagged,
    );
  }

  getSummary(deployment: string): WorkSummary | undefined {
    return this.#work.getSummary(deployment, this.#clock());
  }

  queue(deployment: string): QueueState | undefined {
    return this.#states.get(deployment);
  }

  drain(deployment: string, revision: string): number | undefined {
    return this.#drains.get(deployment)?.get(revision)?.desired;
  }

  getVerdict(deployment: string): VerdictOnShare | undefined {
    return this.#verdicts.get(deployment)?.verdict;
  }

  getGateReport(deployment: string): GateReport | undefined {
    return this.#work.getGateReport(deployment, this.#clock());
  }

  getServer(deployment: string, revision: string): ServerFacts | undefined {
    return this.#work.getServers(deployment, this.#clock()).get(revision);
  }

  /** Follows the work until the signal. Never throws. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const started = performance.now();
      const hasRead = await this.look(signal);
      const rest = hasRead ? Math.max(0, LOOK - (performance.now() - started)) : 0;
      await wait(rest, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Reads the new reports once, and decides. Returns false if further ones have arrived. */
  async look(signal: AbortSignal): Promise<boolean> {
    const urls = this.#options.gateways();
    for (const url of this.#pages.keys()) if (!urls.includes(url)) this.#pages.delete(url);
    const read = await Promise.all(urls.map((url) => this.#readAll(url, signal)));
    const pages = read.flat();
    const changed = new Set(pages.flatMap(({ deployments }) => deployments));
    for (const deployment of new Set(pages.flatMap(({ learned }) => learned)))
      this.#options.learned(deployment, this.#work.getServers(deployment, this.#clock()));
    await visitInTurn(changed, (deployment) => {
      const summary = this.getSummary(deployment);
      if (summary === undefined) return;
      if (
        this.#options.concernsSleep(deployment, summary) ||
        this.#isCountNews(deployment, summary) ||
        this.#isUsageNews(deployment, summary)
      )
        this.#options.wake(deployment);
    });
    await visitInTurn(new Set([...changed, ...this.#raised]), (deployment) =>
      this.#decide(deployment),
    );
    await visitInTurn(new Set([...changed, ...this.#drains.keys()]), (deployment) =>
      this.#decideDrains(deployment),
    );
    await visitInTurn(new Set([...changed, ...this.#verdicts.keys()]), (deployment) =>
      this.#compareTrial(deployment, signal),
    );
    await visitInTurn(changed, (deployment) => this.#handleGateReport(deployment));
    this.#lags.reportLags(changed);
    await this.#publishKeys(urls, signal);
    return read.every((some) => some.at(-1)?.more !== true);
  }

  /** Returns whether another number of threads waits for people than the status says. Statuses are written seldom. */
  #isCountNews(deployment: string, { interrupted }: WorkSummary): boolean {
    const known = this.#options.interrupted(deployment);
    if (interrupted === undefined || known === undefined || known === interrupted) return false;
    return this.#counted.take(deployment, this.#clock());
  }

  #isUsageNews(deployment: string, { usage }: WorkSummary): boolean {
    return (
      usage !== undefined &&
      this.#options.isUsageNews(deployment, usage) &&
      this.#used.take(deployment, this.#clock())
    );
  }

  /** Tells the keys of all gateways. One that has not answered yet is waited for, so that its key is not dropped. */
  async #publishKeys(urls: string[], signal: AbortSignal): Promise<void> {
    if (urls.length === 0 || urls.some((url) => !this.#pages.has(url))) return;
    const keys = filterGatewayKeys(urls.map((url) => this.#pages.get(url)?.key));
    try {
      await this.#options.signs(keys, signal);
    } catch (error) {
      if (!signal.aborted)
        this.#options.log.debug(
          { err: toError(error) },
          'the keys of the gateways could not be written',
        );
    }
  }

  async #readAll(url: string, signal: AbortSignal): Promise<AddedPage[]> {
    const began = performance.now();
    const pages: AddedPage[] = [];
    while (pages.length < PAGES && performance.now() - began < READING_MS) {
      const page = await this.#read(url, signal);
      pages.push(page);
      if (!page.more) break;
    }
    return pages;
  }

  async #read(url: string, signal: AbortSignal): Promise<AddedPage> {
    try {
      const { instance = '', cursor = 0 } = this.#pages.get(url) ?? {};
      const query = new URLSearchParams({ instance, cursor: String(cursor) }).toString();
      const within = AbortSignal.any([signal, AbortSignal.timeout(PATIENCE)]);
      const answer = await fetch(`${url}${REPORTS_PATH}?${query}`, {
        signal: within,
        redirect: 'error',
      });
      // The platform's own gateway has written it.
      const page = (await readJsonAnswer(answer, MAX_PAGE_BYTES)) as ReportsAnswer;
      if (!answer.ok) return NOTHING;
      this.#pages.set(url, {
        instance: page.instance,
        cursor: page.cursor,
        ...(page.key !== undefined && { key: page.key }),
      });
      return { ...this.#work.add(page, this.#clock()), more: page.more };
    } catch (error) {
      if (signal.aborted) return NOTHING;
      this.#options.observer.unread();
      this.#options.log.debug(
        { err: toError(error), url },
        'a gateway could not be asked for reports',
      );
      return NOTHING;
    }
  }

  #decide(deployment: string): void {
    const { scalable, downSeconds, wake, observer } = this.#options;
    const now = this.#clock();
    const given = scalable(deployment);
    const before = this.#states.get(deployment);
    if (given === undefined) {
      this.#states.delete(deployment);
      this.#raised.delete(deployment);
      if (before !== undefined) wake(deployment);
      return;
    }
    const summary = this.#work.getSummary(deployment, now);
    const state = decideQueue(before, {
      summary: summary && filterServingWork(summary),
      ...given,
      now,
      downSeconds,
    });
    this.#states.set(deployment, state);
    if (state.desired > given.bounds.least) this.#raised.add(deployment);
    else this.#raised.delete(deployment);
    if (before !== undefined && before.desired !== state.desired)
      observer.scaled(state.desired > before.desired ? 'up' : 'down');
    if (before?.desired !== state.desired || before.reason !== state.reason) wake(deployment);
  }

  #compareTrial(deployment: string, signal: AbortSignal): void {
    const trial = this.#options.trial(deployment);
    const before = this.#verdicts.get(deployment);
    if (trial === undefined) {
      this.#verdicts.delete(deployment);
      this.#work.dropStaleCounts(deployment);
      this.#options.queries?.dropAnswers(deployment);
      return;
    }
    const { candidate, checks, share } = trial;
    const situation = this.#buildSituation(deployment, trial);
    const state = decideVerdict(before?.state, situation);
    this.#options.queries?.ask(
      deployment,
      { ...trial, queries: listDueQueries(state, situation) },
      signal,
    );
    const verdict = { ...summarizeVerdict(state, checks), candidate, share };
    this.#verdicts.set(deployment, { state, verdict });
    const was = before?.verdict;
    if (
      was?.state === verdict.state &&
      was.message === verdict.message &&
      was.share === verdict.share
    )
      return;
    this.#options.log.info(
      { deployment, ...verdict },
      'a revision that is tried out was compared with the one that serves',
    );
    this.#options.wake(deployment);
  }

  /** Has a deployment looked at when the run of its gate has another status. */
  #handleGateReport(deployment: string): void {
    const gate = this.getGateReport(deployment);
    const word = gate && `${gate.id} ${gate.status}`;
    if (this.#gates.get(deployment) === word) return;
    if (word === undefined) this.#gates.delete(deployment);
    else this.#gates.set(deployment, word);
    this.#options.wake(deployment);
  }

  #buildSituation(deployment: string, trial: Trial): VerdictSituation {
    const { candidate, stable, ...asked } = trial;
    const now = this.#clock();
    const listAges = (revision: string): number[] => this.#work.getAges(deployment, revision, now);
    return {
      ...asked,
      of: JSON.stringify([candidate, stable, asked.checks]),
      candidate: this.#work.getCounts(deployment, candidate),
      stable: this.#work.getCounts(deployment, stable),
      ages: { candidate: listAges(candidate), stable: listAges(stable) },
      answers:
        this.#options.queries?.getAnswers(deployment, trial) ?? buildUnansweredQueries(trial),
      now,
    };
  }

  /** Decides how many queue pods each replaced revision of a deployment is to have. */
  #decideDrains(deployment: string): void {
    const { draining, downSeconds, wakeDraining } = this.#options;
    const queues = draining(deployment);
    const former = this.#drains.get(deployment);
    if (queues.length === 0) {
      this.#drains.delete(deployment);
      return;
    }
    const now = this.#clock();
    const { pinned, slots } = this.#work.getSummary(deployment, now) ?? {};
    const states = new Map<string, DrainState>();
    for (const { revision, live, most } of queues) {
      const before = former?.get(revision);
      const work = pinned?.find((one) => one.revision === revision);
      const state = decideDrain(before, { work, slots, live, most, now, downSeconds });
      states.set(revision, state);
      if (state.desired !== (before?.desired ?? live)) wakeDraining(deployment, revision);
    }
    this.#drains.set(deployment, states);
  }
}
