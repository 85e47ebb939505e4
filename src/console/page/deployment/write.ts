import { useSignal } from '@preact/signals';
import { useApp } from '../shell/app.ts';
import type { DeploymentDetail } from './deployment-detail.ts';
import { describeFailure } from '../api/failure-text.ts';

export type Write = {
  /**
   * Makes the change, and shows the sentence `done` afterwards, with a button for `undo` where there is one. Returns
   * whether the change was made.
   */
  run: (work: () => Promise<unknown>, done: string, undo?: () => void) => Promise<boolean>;
  /** Whether the reader can make changes now. */
  isOff: boolean;
  refused: string | undefined;
};

/** Returns how a part changes a deployment: one change at a time, and a sentence for its end. */
export function useWrite(detail: DeploymentDetail): Write {
  const app = useApp();
  const isBusy = useSignal(false);
  const refused = useSignal<string | undefined>(undefined);
  const run: Write['run'] = async (work, done, undo) => {
    isBusy.value = true;
    refused.value = undefined;
    try {
      await work();
      app.announce(done, undo);
      await detail.read();
      return true;
    } catch (error) {
      refused.value = describeFailure(error);
      return false;
    } finally {
      isBusy.value = false;
    }
  };
  return {
    run,
    isOff: isBusy.value || !app.mayWrite || detail.goneAt.value !== undefined,
    refused: refused.value,
  };
}
