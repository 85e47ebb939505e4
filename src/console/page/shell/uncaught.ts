import type { Signal } from '@preact/signals';
import { describeFailure } from '../api/failure-text.ts';

/** From now on, a failure that nobody caught becomes a sentence on the page. A request that was given up is none. */
export function showUncaught(fault: Signal<string | undefined>): void {
  const report = (error: unknown): void => {
    if (error instanceof DOMException && error.name === 'AbortError') return;
    fault.value = describeFailure(error);
  };
  addEventListener('error', ({ error, message }) => report(error ?? message));
  addEventListener('unhandledrejection', ({ reason }) => report(reason));
}
