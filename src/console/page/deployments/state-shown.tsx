import type { DeploymentState } from '../../../schema/platform/deployment/deployment-summary.ts';
import { Icon } from '../shell/icon.tsx';
import type { IconName } from '../shell/icons.ts';
import { STATE_WORDS } from './list-query.ts';

/** A word in a pill, with a sign and a colour, so that none of them is needed. */
export const StatePill = ({
  look,
  icon,
  word,
}: {
  look: DeploymentState;
  icon: IconName;
  word: string;
}) => (
  <span class={`state ${look}`}>
    <Icon name={icon} turns={look === 'rolling_out' && icon === 'turn'} />
    {word}
  </span>
);

/** The state of a deployment, and its reason behind it where something is wrong. */
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
    <span class="how-it-is">
      <StatePill look={state} icon={icon} word={word} />
      {hasReason && <span class="reason">{reason}</span>}
      {suspended && <span class="reason">paused</span>}
    </span>
  );
}
