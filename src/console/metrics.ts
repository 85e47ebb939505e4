import { Measures } from '../http/server/measures.ts';

export type ConsoleMetrics = {
  print: () => Promise<{ body: string; contentType: string }>;
  onAnswer: (answer: { method: string; route: string; status: number; seconds: number }) => void;
  /** Counts an answer of another process that is under way. Returns the function to call when it has ended. */
  opens: () => () => void;
  signedIn: (result: 'done' | 'refused' | 'failed') => void;
};

/** Registers the metrics of this process. */
export function createConsoleMetrics(): ConsoleMetrics {
  const measures = new Measures();
  const passed = measures.createGauge(
    'gx_console_passed_requests',
    'Requests passed on to the control plane or to agents that are under way.',
  );
  const signIns = measures.createCounter(
    'gx_console_sign_ins_total',
    'Attempts to sign in, by their result.',
    ['result'],
  );
  return {
    print: async () => ({
      body: await measures.registry.metrics(),
      contentType: measures.registry.contentType,
    }),
    onAnswer: measures.createAnswerMeter(),
    opens: () => {
      passed.inc();
      return () => passed.dec();
    },
    signedIn: (result) => signIns.inc({ result }),
  };
}
