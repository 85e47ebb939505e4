import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { RequestRefused } from '../../api/calls.ts';
import { describeFailure } from '../../api/failure-text.ts';
import { listRefusal } from './list-refusal.ts';

/** A value that was read; `refused` is the sentence that says why nothing was. */
export type ReadState<Value> = { value: Value | undefined; refused: string | undefined };

/** Reads something of the agent, and once more when one of the inputs changes. `things` names it in a sentence. */
export function useRead<Value>(
  read: (signal: AbortSignal) => Promise<Value>,
  things: string,
  inputs: readonly unknown[],
): ReadState<Value> {
  const state = useSignal<ReadState<Value>>({ value: undefined, refused: undefined });
  useEffect(() => {
    const leaving = new AbortController();
    const { signal } = leaving;
    const set = (next: ReadState<Value>): void => {
      if (!signal.aborted) state.value = next;
    };
    set({ value: undefined, refused: undefined });
    read(signal).then(
      (value) => set({ value, refused: undefined }),
      (error: unknown) =>
        set({
          value: undefined,
          refused: listRefusal(
            error instanceof RequestRefused ? error : { message: describeFailure(error) },
            things,
          ),
        }),
    );
    return () => leaving.abort();
  }, inputs);
  return state.value;
}
