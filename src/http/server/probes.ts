import { Unavailable } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { listen, type ListeningServer } from './listen.ts';
import { answerJson, buildRouteMakers, answerText, type Route } from '../routes/route.ts';
import { createApp } from './server.ts';

/** The probes of a process without a REST API. */
export type Probes = {
  /** Throws `Unavailable`, with the reason, if the process should be started again. */
  alive?: () => void;
  /** Says which parts are not ready, or returns undefined when all are. */
  missing: () => string | undefined;
  metrics: () => Promise<{ body: string | AsyncIterable<Uint8Array>; contentType: string }>;
};

/** Returns /healthz, /readyz and /metrics. */
export function probeRoutes({ alive, missing, metrics }: Probes): Route<undefined>[] {
  const route = buildRouteMakers<undefined>('System');
  const shared = { access: 'open', answers: { 200: { description: 'Well.' } } } as const;
  return [
    route.get('/healthz', {
      ...shared,
      id: 'healthz',
      summary: 'Whether the process is alive',
      handler: () => {
        alive?.();
        return answerJson({ ok: true });
      },
    }),
    route.get('/readyz', {
      ...shared,
      id: 'readyz',
      summary: 'Whether the process has loaded everything that it needs',
      handler: () => {
        const lacks = missing();
        if (lacks !== undefined) throw new Unavailable(lacks);
        return answerJson({ ok: true });
      },
    }),
    route.get('/metrics', {
      ...shared,
      id: 'metrics',
      summary: 'Prometheus metrics',
      handler: async () => {
        const { body, contentType } = await metrics();
        return typeof body === 'string'
          ? answerText(body, contentType)
          : { kind: 'chunks', status: 200, chunks: body, type: contentType };
      },
    }),
  ];
}

/** No route of the cluster's port takes a body. */
const NO_BODIES = { bytes: 0, selectionBytes: 0, values: 0, listItems: 0 };

/** Serves these routes on the cluster's port (GX_HEALTH_PORT), so that no user of the process reads its metrics. */
export const serveProbes = (
  routes: Route<undefined>[],
  at: { host: string; port: number; log: Log },
): Promise<ListeningServer> => {
  const app = createApp<undefined>({
    routes,
    log: at.log,
    invalid: 'sentence',
    authenticate: () => undefined,
    body: NO_BODIES,
  });
  return listen(app, { host: at.host, port: at.port, portSettings: 'GX_HEALTH_PORT' });
};
