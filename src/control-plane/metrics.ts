import type { Registry } from 'prom-client';
import { Measures } from '../http/server/measures.ts';
import type { Answered } from '../http/server/server.ts';
import type { RequestSample } from '../kube/kube.ts';
import { registerRequestMetrics, watchMetrics } from '../kube/kube-metrics.ts';
import type { WatchState } from '../kube/watch.ts';
import type { Stored } from './stored/stored.ts';

export type ControlPlaneMetrics = {
  registry: Registry;
  onAnswer: (
    answer: Pick<Answered<unknown>, 'method' | 'route' | 'status' | 'seconds' | 'refusal'>,
  ) => void;
  onRequest: (sample: RequestSample) => void;
  onFailedLogin: (reason: string) => void;
  /** Counts an open stream. Returns the function to call when it has ended. */
  opens: () => () => void;
};

type Measured = {
  stored: Stored;
  watches: () => WatchState[];
  /** The reasons of failed log-ins, which are 0 at first. */
  loginFailures: readonly string[];
  /** Returns when the certificate of this process expires; undefined where it has none. */
  certificateUntil: (() => Date | undefined) | undefined;
};

/** Registers the metrics of this process. */
export function createControlPlaneMetrics({
  stored,
  watches,
  loginFailures,
  certificateUntil,
}: Measured): ControlPlaneMetrics {
  const measures = new Measures();
  const { registry } = measures;
  watchMetrics(measures, watches);
  registerResourceMetrics(measures, stored);
  if (certificateUntil !== undefined) registerCertificateMetric(measures, certificateUntil);
  return {
    registry,
    onRequest: registerRequestMetrics(measures),
    ...answerMetrics(measures),
    ...registerCallerMetrics(measures, loginFailures),
  };
}

function answerMetrics(measures: Measures): Pick<ControlPlaneMetrics, 'onAnswer'> {
  const answered = measures.createAnswerMeter();
  const refusals = measures.createCounter(
    'gx_control_plane_refusals_total',
    'Requests that were refused, by reason.',
    ['reason'],
  );
  return {
    onAnswer: ({ refusal, ...answer }) => {
      answered(answer);
      if (refusal !== undefined) refusals.inc({ reason: refusal });
    },
  };
}

function registerCallerMetrics(
  measures: Measures,
  loginFailures: readonly string[],
): Pick<ControlPlaneMetrics, 'onFailedLogin' | 'opens'> {
  const failures = measures.createCounter(
    'gx_control_plane_failed_logins_total',
    'Credentials that were refused, by reason.',
    ['reason'],
  );
  for (const reason of loginFailures) failures.inc({ reason }, 0);
  const streams = measures.createGauge(
    'gx_control_plane_open_streams',
    'Streams and waits that clients hold open.',
  );
  return {
    onFailedLogin: (reason) => failures.inc({ reason }),
    opens: () => {
      streams.inc();
      return () => streams.dec();
    },
  };
}

function registerResourceMetrics(measures: Measures, stored: Measured['stored']): void {
  const held = measures.createGauge(
    'gx_control_plane_resources',
    'Custom resources as last seen.',
    ['kind'],
    () => {
      held.set({ kind: 'Deployment' }, stored.listDeployments().length);
      held.set({ kind: 'Listener' }, stored.listListeners().length);
    },
  );
  const faulty = measures.createGauge(
    'gx_faulty_objects',
    'Resources that are shown with parts cut, or left out.',
    ['kind', 'reason'],
    () => {
      faulty.reset();
      for (const { object, fault } of stored.listFaulty())
        faulty.inc({ kind: object.kind, reason: fault.reason });
    },
  );
}

function registerCertificateMetric(measures: Measures, until: () => Date | undefined): void {
  const name = 'gx_control_plane_certificate_expiry_timestamp_seconds';
  const expiry = measures.createGauge(
    name,
    'When the certificate of the REST API expires.',
    [],
    () => {
      expiry.set((until()?.getTime() ?? NaN) / 1000);
    },
  );
}
