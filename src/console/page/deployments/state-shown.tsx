import type { DeploymentState } from '../../../schema/platform/deployment/deployment-summary.ts';
import { STATE_WORDS } from './list-query.ts';

/** A state as a sign, a word and a colour, so that none of them is needed. */
export function StateShown({
  state,
  reason,
  suspended = false,
}: {
  state: DeploymentState;
  reason?: string | null;
  suspended?: boolean;
}) {
  const { word, icon } = STATE_WORDS[state];
  const hasReason =
    reason !== null && reason !== undefined && (state === 'failed' || state === 'unavailable');
  return (
    <span class={`state ${state}`}>
      <span class="icon" aria-hidden="true">
        {icon}
      </span>
      <span>
        {word}
        {hasReason && <span class="reason"> · {reason}</span>}
        {suspended && <span class="reason"> · paused</span>}
      </span>
    </span>
  );
}
