import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { RequestSample } from './client.ts';
import type { WatchState } from './watch.ts';

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Registers metrics of requests to the API server, with client-go's names. Returns the function that counts one. */
export function requestMetrics(registry: Registry): (sample: RequestSample) => void {
  const registers = [registry];
  const total = new Counter({
    name: 'rest_client_requests_total',
    help: 'Requests to the API server.',
    labelNames: ['code', 'method', 'host'],
    registers,
  });
  const duration = new Histogram({
    name: 'rest_client_request_duration_seconds',
    help: 'Time to an answer.',
    labelNames: ['method', 'host'],
    buckets: SECONDS,
    registers,
  });
  return ({ method, code, host, seconds }) => {
    total.inc({ code, method, host });
    duration.observe({ method, host }, seconds);
  };
}

/** Measures at each scrape how long each watch has been silent. A kind that is not installed has no age. */
export function watchMetrics(registry: Registry, now: () => WatchState[]): void {
  const age = new Gauge({
    name: 'watch_last_event_age_seconds',
    help: 'Time since the last sign of life of a watch.',
    labelNames: ['kind', 'namespace', 'selector'],
    registers: [registry],
    collect: () => {
      age.reset();
      for (const { silent, ...watch } of now()) if (silent !== undefined) age.set(watch, silent / 1000);
    },
  });
}
