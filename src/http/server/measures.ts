import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** Buckets of work that may take a minute. */
const LONG = [...SECONDS, 30, 60];

/** The metrics of a process, those of Node among them. A metric that is asked for again is the same one. */
export class Measures {
  readonly registry = new Registry();

  constructor() {
    collectDefaultMetrics({ register: this.registry });
  }

  createCounter(name: string, help: string, labelNames: string[] = []): Counter {
    return (
      this.#findMetric<Counter>(name) ??
      new Counter({ name, help, labelNames, registers: [this.registry] })
    );
  }

  /** `collect` measures at each scrape. */
  createGauge(name: string, help: string, labelNames: string[] = [], collect?: () => void): Gauge {
    const given = {
      name,
      help,
      labelNames,
      registers: [this.registry],
      ...(collect !== undefined && { collect }),
    };
    return this.#findMetric<Gauge>(name) ?? new Gauge(given);
  }

  createHistogram(name: string, help: string, labelNames: string[], buckets = LONG): Histogram {
    return (
      this.#findMetric<Histogram>(name) ??
      new Histogram({ name, help, labelNames, buckets, registers: [this.registry] })
    );
  }

  createAnswerMeter(): (answer: {
    method: string;
    route: string;
    status: number;
    seconds: number;
  }) => void {
    const labels = ['method', 'route', 'status'];
    const time = this.createHistogram(
      'gx_http_request_duration_seconds',
      'Time to answer a request.',
      labels,
      SECONDS,
    );
    return ({ method, route, status, seconds }) =>
      time.observe({ method, route, status: String(status) }, seconds);
  }

  #findMetric<M>(name: string): M | undefined {
    return this.registry.getSingleMetric(name) as M | undefined;
  }
}
