import { UNAUTHENTICATED } from '../../schema/conditions.ts';
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
  const { spec, status = {}, metadata } = serving;
  if (status.guard === 'key' || status.guard === 'handlers') return [];
  if (spec.template.sourceRevisionConfig?.auth?.mode === 'open') return [open('AskedFor', `${NETWORK} The mode of auth is open.`)];
  if (spec.guarded !== true)
    return [open('OlderRevision', `${NETWORK} Revision ${metadata.name} was made before agents had keys; the next one closes them.`)];
  if (status.guard === 'open') return [open('NoKey', `${NETWORK} They started without the key of the deployment.`)];
  if (status.guard === 'unknown')
    return [open('OlderServer', `${NETWORK} The agent server in the image does not know keys: build it again on today's.`)];
  return [{ ...open('NotTold', 'The pods have not told what decides who may call: their log could not be read.'), status: 'Unknown' }];
}

const open = (reason: string, message: string): StatedCondition => ({ type: UNAUTHENTICATED, status: 'True', reason, message });
