import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Answered } from '../http/server.ts';
import type { RequestSample } from '../kube/client.ts';
import { requestMetrics, watchMetrics } from '../kube/kube-metrics.ts';
import type { WatchState } from '../kube/watch.ts';
import type { Stored } from './stored/stored.ts';

export type ControlPlaneMetrics = {
  registry: Registry;
  onAnswer: (answer: Pick<Answered<unknown>, 'method' | 'route' | 'status' | 'seconds' | 'refusal'>) => void;
  /** Counts a request to the API server. */
  onRequest: (sample: RequestSample) => void;
  /** Counts credentials that were refused. */
  onFailedLogin: (reason: string) => void;
  /** Counts an open stream. Returns the function to call when it has ended. */
  opens: () => () => void;
};

type Measured = {
  stored: Pick<Stored, 'deployments' | 'listeners' | 'faulty'>;
  watches: () => WatchState[];
  /** The reasons of failed log-ins, which are 0 at first. */
  loginFailures: readonly string[];
  /** Returns when the certificate of this process expires; undefined where it has none. */
  certificateUntil: (() => Date | undefined) | undefined;
};

/** Registers the metrics of this process. */
export function createControlPlaneMetrics({ stored, watches, loginFailures, certificateUntil }: Measured): ControlPlaneMetrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  watchMetrics(registry, watches);
  resourceMetrics(registry, stored);
  if (certificateUntil !== undefined) certificateMetric(registry, certificateUntil);
  return { registry, onRequest: requestMetrics(registry), ...answerMetrics(registry), ...callerMetrics(registry, loginFailures) };
}

function answerMetrics(registry: Registry): Pick<ControlPlaneMetrics, 'onAnswer'> {
  const seconds = new Histogram({
    name: 'gx_http_request_duration_seconds',
    help: 'Time to answer a request.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  });
  const refusals = new Counter({
    name: 'gx_control_plane_refusals_total',
    help: 'Requests that were refused, by reason.',
    labelNames: ['reason'],
    registers: [registry],
  });
  return {
    onAnswer: ({ method, route, status, seconds: time, refusal }) => {
      seconds.observe({ method, route, status: String(status) }, time);
      if (refusal !== undefined) refusals.inc({ reason: refusal });
    },
  };
}

function callerMetrics(registry: Registry, loginFailures: readonly string[]): Pick<ControlPlaneMetrics, 'onFailedLogin' | 'opens'> {
  const failures = new Counter({
    name: 'gx_control_plane_failed_logins_total',
    help: 'Credentials that were refused, by reason.',
    labelNames: ['reason'],
    registers: [registry],
  });
  for (const reason of loginFailures) failures.inc({ reason }, 0);
  const streams = new Gauge({
    name: 'gx_control_plane_open_streams',
    help: 'Streams and waits that clients hold open.',
    registers: [registry],
  });
  return {
    onFailedLogin: (reason) => failures.inc({ reason }),
    opens: () => {
      streams.inc();
      return () => streams.dec();
    },
  };
}

function resourceMetrics(registry: Registry, stored: Measured['stored']): void {
  const held = new Gauge({
    name: 'gx_control_plane_resources',
    help: 'Custom resources as last seen.',
    labelNames: ['kind'],
    registers: [registry],
    collect: () => {
      held.set({ kind: 'Deployment' }, stored.deployments().length);
      held.set({ kind: 'Listener' }, stored.listeners().length);
    },
  });
  const faulty = new Gauge({
    name: 'gx_faulty_objects',
    help: 'Resources that are shown with parts cut, or left out.',
    labelNames: ['kind', 'reason'],
    registers: [registry],
    collect: () => {
      faulty.reset();
      for (const { object, fault } of stored.faulty()) faulty.inc({ kind: object.kind, reason: fault.reason });
    },
  });
}

function certificateMetric(registry: Registry, until: () => Date | undefined): void {
  const expiry: Gauge = new Gauge({
    name: 'gx_control_plane_certificate_expiry_timestamp_seconds',
    help: 'When the certificate of the REST API expires.',
    registers: [registry],
    collect: () => {
      expiry.set((until()?.getTime() ?? NaN) / 1000);
    },
  });
}
