import type { Measures } from '../http/server/measures.ts';
import type { RequestSample } from './kube.ts';
import type { WatchState } from './watch.ts';

/** Registers metrics of requests to the API server, with client-go's names. Returns the function that counts one. */
export function registerRequestMetrics(measures: Measures): (sample: RequestSample) => void {
  const total = measures.createCounter(
    'rest_client_requests_total',
    'Requests to the API server.',
    ['code', 'method', 'host'],
  );
  const duration = measures.createHistogram(
    'rest_client_request_duration_seconds',
    'Time to an answer.',
    ['method', 'host'],
  );
  return ({ method, code, host, seconds }) => {
    total.inc({ code, method, host });
    duration.observe({ method, host }, seconds);
  };
}

/** Measures at each scrape how long each watch has been silent. A kind that is not installed has no age. */
export function watchMetrics(measures: Measures, now: () => WatchState[]): void {
  const age = measures.createGauge(
    'watch_last_event_age_seconds',
    'Time since a watch last received anything.',
    ['kind', 'namespace', 'selector'],
    () => {
      age.reset();
      for (const { silent, ...watch } of now())
        if (silent !== undefined) age.set(watch, silent / 1000);
    },
  );
}
