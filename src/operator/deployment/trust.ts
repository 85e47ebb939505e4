import { TOKEN_MOUNTED } from '../../schema/conditions.ts';
import type { RevisionResource } from '../../schema/custom-resources.ts';
import type { StatedCondition } from '../kernel/outcome.ts';
import type { DeploymentWorld } from './observe.ts';
import { openness } from './openness.ts';
import { podSecurity } from './pod-security.ts';

/**
 * States whom a deployment trusts further than it must: callers without credentials, the agents' own code, whoever
 * starts pods in its namespace. Whoever reviews a cluster finds it there.
 */
export const trust = (
  { revisions, place }: Pick<DeploymentWorld, 'revisions' | 'place'>,
  active: string | undefined,
): StatedCondition[] => [...openness(revisions, active), ...mountedToken(revisions, active), ...podSecurity(place)];

/** States whose token the agents of the serving revision have. */
function mountedToken(revisions: RevisionResource[], active: string | undefined): StatedCondition[] {
  const { resourceSpec = {} } = revisions.find(({ metadata }) => metadata.name === active)?.spec.template ?? {};
  if (resourceSpec.automountServiceAccountToken !== true) return [];
  const message = `The agents' code can act as the ServiceAccount ${resourceSpec.serviceAccountName ?? 'default'}.`;
  return [{ type: TOKEN_MOUNTED, status: 'True', reason: 'Automounted', message }];
}
