import { TOKEN_MOUNTED } from '../../../schema/conditions.ts';
import type { RevisionResource } from '../../../schema/custom-resources.ts';
import { revisionIn } from '../../family/revisions.ts';
import type { StatedCondition } from '../../kernel/outcome.ts';
import { openness } from '../openness.ts';
import type { Part } from '../part.ts';
import { podSecurity } from '../pod-security.ts';

/**
 * States whom a deployment trusts further than it must: callers without credentials, the agents' own code, whoever
 * starts pods in its namespace. Whoever reviews a cluster finds it there.
 */
export const trust: Part = {
  report: ({ revisions, active, place }) => ({
    statements: [...openness(revisions, active), ...mountedToken(revisions, active), ...podSecurity(place)],
  }),
};

/** States whose token the agents of the serving revision have. */
function mountedToken(revisions: RevisionResource[], active: string | undefined): StatedCondition[] {
  const { resourceSpec = {} } = revisionIn(revisions, active)?.spec.template ?? {};
  if (resourceSpec.automountServiceAccountToken !== true) return [];
  const message = `The agents' code can act as the ServiceAccount ${resourceSpec.serviceAccountName ?? 'default'}.`;
  return [{ type: TOKEN_MOUNTED, status: 'True', reason: 'Automounted', message }];
}
