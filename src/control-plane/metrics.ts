import { collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Stored } from './stored/stored.ts';

export type ControlPlaneMetrics = {
  registry: Registry;
  onAnswer: (answer: { method: string; route: string; status: number; seconds: number }) => void;
};

/** Registers the metrics: requests by route and status, and how many resources the watch holds. */
export function createControlPlaneMetrics(stored: Pick<Stored, 'deployments' | 'listeners' | 'faulty'>): ControlPlaneMetrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const seconds = new Histogram({
    name: 'gx_http_request_duration_seconds',
    help: 'Time to answer a request.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  });
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
  return {
    registry,
    onAnswer: ({ method, route, status, seconds: time }) => seconds.observe({ method, route, status: String(status) }, time),
  };
}
