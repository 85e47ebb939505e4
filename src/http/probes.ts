import { Unavailable } from '../errors.ts';
import { json, routeFor, text, type Route } from './route.ts';

/** The probes of a process without a REST API. */
export type Probes = {
  /** Throws `Unavailable`, with the reason, if the process should be started again. */
  alive?: () => void;
  isReady: () => boolean;
  /** The parts that are not ready yet. */
  missing: string;
  metrics: () => Promise<{ body: string; contentType: string }>;
};

/** Returns /healthz, /readyz and /metrics. */
export function probeRoutes({ alive, isReady, missing, metrics }: Probes): Route<undefined>[] {
  const route = routeFor<undefined>();
  const shared = { method: 'get', tag: 'System', access: 'open', answers: { 200: { description: 'Well.' } } } as const;
  return [
    route({
      ...shared,
      path: '/healthz',
      id: 'healthz',
      summary: 'Is the process alive',
      handler: () => {
        alive?.();
        return json({ ok: true });
      },
    }),
    route({
      ...shared,
      path: '/readyz',
      id: 'readyz',
      summary: 'Does it know all that it works with',
      handler: () => {
        if (!isReady()) throw new Unavailable(missing);
        return json({ ok: true });
      },
    }),
    route({
      ...shared,
      path: '/metrics',
      id: 'metrics',
      summary: 'Prometheus metrics',
      handler: async () => {
        const { body, contentType } = await metrics();
        return text(body, contentType);
      },
    }),
  ];
}
