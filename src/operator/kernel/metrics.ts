import { setImmediate as nextTurn } from 'node:timers/promises';
import { Measures } from '../../http/server/measures.ts';
import type { Faulty } from '../../kube/faulty-objects.ts';
import type { RequestSample } from '../../kube/kube.ts';
import { registerRequestMetrics, watchMetrics } from '../../kube/kube-metrics.ts';
import type { WatchObserver, WatchState } from '../../kube/watch.ts';
import type { ControllerObserver, Result } from './controller.ts';
import type { QueueObserver } from './queue.ts';

/** Milliseconds of a scrape after which others have a turn. */
const TURN = 10;
const RESULTS: Result[] = ['success', 'error', 'requeue_after', 'stalled'];

/** The operator's metrics have controller-runtime's names, so that its dashboards and alerts work here too. */
export class OperatorMetrics {
  readonly #measures = new Measures();
  readonly #objects: ObjectSeries[] = [];
  readonly #atScrape: (() => void)[] = [];

  /**
   * Returns all metrics in the text format of Prometheus, in parts: with ten thousand deployments it has tens of
   * megabytes.
   */
  print(): { body: AsyncIterable<Uint8Array>; contentType: string } {
    return { body: this.#streamParts(), contentType: this.#measures.registry.contentType };
  }

  async *#streamParts(): AsyncGenerator<Uint8Array> {
    for (const measure of this.#atScrape) measure();
    yield Buffer.from(await this.#measures.registry.metrics());
    let since = performance.now();
    for (const series of this.#objects)
      for (const text of series.renderChunks()) {
        yield Buffer.from(text);
        // A socket that takes everything at once would leave no turn to others.
        if (performance.now() - since < TURN) continue;
        await nextTurn();
        since = performance.now();
      }
  }

  createControllerObserver(name: string, workers: number): ControllerObserver {
    const labels = { controller: name };
    const total = this.#measures.createCounter(
      'controller_runtime_reconcile_total',
      'Reconciles by result.',
      ['controller', 'result'],
    );
    const errors = this.#measures.createCounter(
      'controller_runtime_reconcile_errors_total',
      'Reconciles that failed.',
      ['controller'],
    );
    const terminal = this.#measures.createCounter(
      'controller_runtime_terminal_reconcile_errors_total',
      'Reconciles that stalled.',
      ['controller'],
    );
    const timeouts = this.#measures.createCounter(
      'controller_runtime_reconcile_timeouts_total',
      'Reconciles that ran out of time.',
      ['controller'],
    );
    const panics = this.#measures.createCounter(
      'controller_runtime_reconcile_panics_total',
      'Reconciles that ended with a bug.',
      ['controller'],
    );
    const time = this.#measures.createHistogram(
      'controller_runtime_reconcile_time_seconds',
      'Length of a reconcile.',
      ['controller'],
    );
    const active = this.#measures.createGauge(
      'controller_runtime_active_workers',
      'Active workers.',
      ['controller'],
    );
    this.#measures
      .createGauge('controller_runtime_max_concurrent_reconciles', 'Workers.', ['controller'])
      .set(labels, workers);
    for (const result of RESULTS) total.inc({ ...labels, result }, 0);
    for (const counter of [errors, terminal, timeouts, panics]) counter.inc(labels, 0);
    active.set(labels, 0);
    return {
      started: () => active.inc(labels),
      timedOut: () => timeouts.inc(labels),
      panicked: () => panics.inc(labels),
      done: (result, seconds) => {
        active.dec(labels);
        total.inc({ ...labels, result });
        time.observe(labels, seconds);
        if (result === 'error') errors.inc(labels);
        if (result === 'stalled') terminal.inc(labels);
      },
    };
  }

  queue(name: string): QueueObserver {
    const labels = { name };
    const depth = this.#measures.createGauge('workqueue_depth', 'Keys waiting.', ['name']);
    const adds = this.#measures.createCounter('workqueue_adds_total', 'Keys added.', ['name']);
    const retries = this.#measures.createCounter(
      'workqueue_retries_total',
      'Keys tried again after a failure.',
      ['name'],
    );
    const waited = this.#measures.createHistogram(
      'workqueue_queue_duration_seconds',
      'Time a key waits.',
      ['name'],
    );
    const worked = this.#measures.createHistogram(
      'workqueue_work_duration_seconds',
      'Time a key is worked on.',
      ['name'],
    );
    depth.set(labels, 0);
    for (const counter of [adds, retries]) counter.inc(labels, 0);
    return {
      added: () => adds.inc(labels),
      depth: (value) => depth.set(labels, value),
      started: (seconds) => waited.observe(labels, seconds),
      done: (seconds) => worked.observe(labels, seconds),
      retried: () => retries.inc(labels),
      asks: (starts) => this.#measureUnderWay(labels, starts),
    };
  }

  /** Measures how long the reconciles under way have taken. One that hangs shows here long before its deadline. */
  #measureUnderWay(labels: { name: string }, starts: () => Iterable<number>): void {
    const listAges = (): number[] => [...starts()].map((at) => (performance.now() - at) / 1000);
    const sum = this.#measures.createGauge(
      'workqueue_unfinished_work_seconds',
      'Time spent on the keys under way.',
      ['name'],
    );
    const longest = this.#measures.createGauge(
      'workqueue_longest_running_processor_seconds',
      'Time spent on the oldest of them.',
      ['name'],
    );
    this.#atScrape.push(() => {
      sum.set(
        labels,
        listAges().reduce((total, age) => total + age, 0),
      );
      longest.set(labels, Math.max(0, ...listAges()));
    });
  }

  createWatchObserver(): WatchObserver {
    const relists = this.#measures.createCounter('informer_relists_total', 'Complete lists read.', [
      'kind',
    ]);
    const missed = this.#measures.createCounter(
      'missed_events_total',
      'Changes that only a list reported.',
      ['kind'],
    );
    return {
      relisted: (kind) => {
        relists.inc({ kind });
        missed.inc({ kind }, 0);
      },
      missed: (kind, count) => missed.inc({ kind }, count),
    };
  }

  watchAges(now: () => WatchState[]): void {
    watchMetrics(this.#measures, now);
  }

  /** Counts changes of queues' sizes, and looks at a gateway that got no answer. */
  createWorkObserver(): { scaled: (direction: 'up' | 'down') => void; unread: () => void } {
    const scaled = this.#measures.createCounter(
      'gx_queue_scale_changes_total',
      'Changes of the desired number of queue pods.',
      ['direction'],
    );
    const unread = this.#measures.createCounter(
      'gx_gateway_unread_total',
      'Requests for reports that a gateway did not answer.',
      [],
    );
    for (const direction of ['up', 'down']) scaled.inc({ direction }, 0);
    return { scaled: (direction) => scaled.inc({ direction }), unread: () => unread.inc() };
  }

  /** Counts the objects that are out of bounds or can't be read, at each scrape. */
  measureFaulty(now: () => Faulty[]): void {
    const gauge = this.#measures.createGauge(
      'gx_faulty_objects',
      'Objects that the operator leaves as they are.',
      ['kind', 'reason'],
    );
    this.#atScrape.push(() => {
      gauge.reset();
      for (const { object, fault } of now()) gauge.inc({ kind: object.kind, reason: fault.reason });
    });
  }

  /** Registers a gauge whose series belong to objects. */
  addObjectSeries(name: string, help: string): ObjectSeries {
    const series = new ObjectSeries(name, help);
    this.#objects.push(series);
    return series;
  }

  createRequestObserver(): (sample: RequestSample) => void {
    return registerRequestMetrics(this.#measures);
  }

  createLeaderObserver(name: string): (leads: boolean) => void {
    const gauge = this.#measures.createGauge(
      'leader_election_master_status',
      '1 while this process leads.',
      ['name'],
    );
    gauge.set({ name }, 0);
    return (leads) => gauge.set({ name }, leads ? 1 : 0);
  }
}

type Sample = { labels: Readonly<Record<string, string>>; value: number };

/**
 * The series of an object without their name: one line, or the labels that several have in common and then the rest of
 * each. A list takes more memory than a text.
 */
type StoredLines = string | readonly [common: string, ...rest: string[]];

/** Objects whose series are sent at once, some 20 KB. Larger texts would outlive the next small garbage collection. */
const AT_ONCE = 20;
/** Texts that are shared. A series that would be one more keeps its own. */
const SHARED = 10_000;

/**
 * A gauge whose series belong to objects. They are printed when their object changes, not at a scrape, because ten
 * thousand objects at once would hold up the event loop. An object that is gone takes its series along.
 */
class ObjectSeries {
  readonly #name: string;
  readonly #help: string;
  readonly #lines = new Map<string, StoredLines>();
  readonly #shared = new Map<string, string>();

  constructor(name: string, help: string) {
    this.#name = name;
    this.#help = help;
  }

  /** Puts these samples in the place of those that the object had. The labels `common` name the object. */
  put(key: string, common: Readonly<Record<string, string>>, samples: readonly Sample[]): void {
    const rest = samples.map(({ labels, value }) => this.#shareText(labels, value));
    if (rest.length === 0) this.#lines.delete(key);
    else
      this.#lines.set(
        key,
        rest.length === 1
          ? [formatLabels(common), ...rest].join('')
          : [formatLabels(common), ...rest],
      );
  }

  /** Yields all series in the text format of Prometheus, those of some objects at a time. */
  *renderChunks(): Generator<string> {
    const name = this.#name;
    yield `# HELP ${name} ${this.#help}\n# TYPE ${name} gauge\n`;
    // Objects that change meanwhile must not come twice.
    const lines = [...this.#lines.values()];
    const renderLines = (kept: StoredLines): string => {
      if (typeof kept === 'string') return `${name}{${kept}`;
      const [common, ...rest] = kept;
      return rest.map((one) => `${name}{${common}${one}`).join('');
    };
    for (let from = 0; from < lines.length; from += AT_ONCE)
      yield lines
        .slice(from, from + AT_ONCE)
        .map(renderLines)
        .join('');
  }

  /** Ten thousand deployments have the same few states, so that their texts are kept once. */
  #shareText(labels: Sample['labels'], value: number): string {
    const own = formatLabels(labels);
    const text = `${own === '' ? '' : `,${own}`}} ${value}\n`;
    const known = this.#shared.get(text);
    if (known === undefined && value === 1 && this.#shared.size < SHARED)
      this.#shared.set(text, text);
    return known ?? text;
  }
}

/** A joined text is one piece of memory; a concatenated one keeps its pieces. */
const formatLabels = (labels: Sample['labels']): string =>
  Object.entries(labels)
    .map(([name, text]) => [name, '="', escapeLabel(text), '"'].join(''))
    .join(',');

const escapeLabel = (text: string): string =>
  /[\\"\n]/.test(text) ? text.replaceAll(/[\\"]/g, '\\$&').replaceAll('\n', '\\n') : text;
