import { ASKED_OPEN, UNAUTHENTICATED } from '../../schema/conditions.ts';
import type { RevisionResource } from '../../schema/custom-resources.ts';
import type { StatedCondition } from '../kernel/outcome.ts';

const NETWORK = 'Whoever reaches the Service may call the agents.';

/**
 * States that the agents of the serving revision let everybody in. It says nothing of agents that ask for credentials,
 * nor while nothing serves.
 */
export function openness(revisions: RevisionResource[], active: string | undefined): StatedCondition[] {
  const serving = revisions.find(({ metadata }) => metadata.name === active);
  if (serving === undefined) return [];
  const { spec, status: { guard } = {} } = serving;
  if (guard === 'key' || guard === 'handlers') return [];
  if (spec.template.sourceRevisionConfig?.auth?.mode === 'open') return [open(ASKED_OPEN, `${NETWORK} The mode of auth is open.`)];
  if (guard === 'open') return [open('NoKey', `${NETWORK} They started without the key of the deployment.`)];
  return [{ ...open('GuardUnknown', 'No pod has reported what decides who may call.'), status: 'Unknown' }];
}

const open = (reason: string, message: string): StatedCondition => ({ type: UNAUTHENTICATED, status: 'True', reason, message });
