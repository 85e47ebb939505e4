import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

export type ConsoleMetrics = {
  print: () => Promise<{ body: string; contentType: string }>;
  onAnswer: (answer: { method: string; route: string; status: number; seconds: number }) => void;
  /** Counts an answer of another process that is under way. Returns the function to call when it has ended. */
  opens: () => () => void;
  signedIn: (result: 'done' | 'refused' | 'failed') => void;
};

/** Registers the metrics of this process. */
export function consoleMetrics(): ConsoleMetrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  const seconds = new Histogram({
    name: 'gx_http_request_duration_seconds',
    help: 'Time to answer a request.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers,
  });
  const passed = new Gauge({
    name: 'gx_console_passed_requests',
    help: 'Requests passed on to the control plane or to agents that are under way.',
    registers,
  });
  const signIns = new Counter({
    name: 'gx_console_sign_ins_total',
    help: 'Attempts to sign in, by their result.',
    labelNames: ['result'],
    registers,
  });
  return {
    print: async () => ({ body: await registry.metrics(), contentType: registry.contentType }),
    onAnswer: ({ method, route, status, seconds: time }) => seconds.observe({ method, route, status: String(status) }, time),
    opens: () => {
      passed.inc();
      return () => passed.dec();
    },
    signedIn: (result) => signIns.inc({ result }),
  };
}
