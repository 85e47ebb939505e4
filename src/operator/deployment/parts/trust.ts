import {
  ASKED_OPEN,
  TOKEN_MOUNTED,
  UNAUTHENTICATED,
} from '../../../schema/platform/objects/conditions.ts';
import type { RevisionResource } from '../../../schema/platform/resources/custom-resources.ts';
import { findRevisionByName } from '../../rollout/revisions.ts';
import type { StatedCondition } from '../../kernel/outcome.ts';
import type { Part } from '../part.ts';
import { buildPodSecurityConditions } from '../pod-security.ts';

/**
 * States whom a deployment trusts further than it must: callers without credentials, the agents' own code, anyone who
 * starts pods in its namespace. A reviewer of the cluster finds it there.
 */
export const trust: Part = {
  report: ({ revisions, active, place }) => ({
    statements: [
      ...buildOpenConditions(revisions, active),
      ...buildTokenConditions(revisions, active),
      ...buildPodSecurityConditions(place),
    ],
  }),
};

function buildTokenConditions(
  revisions: RevisionResource[],
  active: string | undefined,
): StatedCondition[] {
  const { resourceSpec = {} } = findRevisionByName(revisions, active)?.spec.template ?? {};
  if (resourceSpec.automountServiceAccountToken !== true) return [];
  const message = `The agents' code can act as the ServiceAccount ${resourceSpec.serviceAccountName ?? 'default'}.`;
  return [{ type: TOKEN_MOUNTED, status: 'True', reason: 'Automounted', message }];
}

const NETWORK = 'Anyone who reaches the Service may call the agents.';

/**
 * States that the agents of the serving revision let everybody in. It says nothing of agents that ask for credentials,
 * nor while nothing serves.
 */
function buildOpenConditions(
  revisions: RevisionResource[],
  active: string | undefined,
): StatedCondition[] {
  const serving = findRevisionByName(revisions, active);
  if (serving === undefined) return [];
  const { spec, status: { guard } = {} } = serving;
  if (guard === 'key' || guard === 'handlers') return [];
  if (spec.template.sourceRevisionConfig?.auth?.mode === 'open')
    return [open(ASKED_OPEN, `${NETWORK} The mode of auth is open.`)];
  if (guard === 'open')
    return [open('NoKey', `${NETWORK} They started without the key of the deployment.`)];
  return [
    {
      ...open('GuardUnknown', 'No pod has reported what decides who may call.'),
      status: 'Unknown',
    },
  ];
}

const open = (reason: string, message: string): StatedCondition => ({
  type: UNAUTHENTICATED,
  status: 'True',
  reason,
  message,
});
