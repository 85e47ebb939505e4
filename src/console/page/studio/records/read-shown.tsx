import type { ComponentChildren } from 'preact';
import { Skeleton } from '../../shell/controls.tsx';
import type { ReadState } from './use-read.ts';

/** A value that was read of the agent, or the sentence that says why nothing was. */
export function ReadShown<Value>({
  state,
  children,
}: {
  state: ReadState<Value>;
  children: (value: Value) => ComponentChildren;
}) {
  if (state.refused !== undefined)
    return (
      <p class="note" role="alert">
        {state.refused}
      </p>
    );
  return state.value === undefined ? <Skeleton lines={5} /> : children(state.value);
}
