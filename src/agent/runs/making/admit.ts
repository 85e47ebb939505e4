import type { MultitaskStrategy } from '../../../schema/agent/run.ts';

/** Says what becomes of a new run, and of those before it on its thread. */
export type Admission =
  | { admitted: false }
  | { admitted: true; stop: 'interrupt' | 'rollback' | undefined };

/** Applies the multitask strategies: a run on an idle thread is always admitted, and stops nothing. */
export function admit(strategy: MultitaskStrategy, unfinished: number): Admission {
  if (unfinished === 0) return { admitted: true, stop: undefined };
  switch (strategy) {
    case 'reject':
      return { admitted: false };
    case 'enqueue':
      return { admitted: true, stop: undefined };
    default:
      return { admitted: true, stop: strategy };
  }
}
