import {
  PROXY_NOT_ADMITTED,
  ROUTE_KIND_MISSING,
  ROUTED,
} from '../../../schema/platform/objects/conditions.ts';
import { names } from '../../../schema/names.ts';
import type { KubeObject } from '../../../kube/kube.ts';
import type { StatedCondition } from '../../kernel/outcome.ts';
import { isIngressOpen } from '../../objects/network-policies.ts';
import { findRevisionByName } from '../../rollout/revisions.ts';
import { readRouteAnswer, type RouteAnswer } from '../../routes/stored.ts';
import type { DeploymentFacts, Part, WrittenFacts } from '../part.ts';
import { buildRouteObjects } from '../route/objects.ts';
import { isStripped, buildOutsideAddress } from '../route/plan.ts';

/** Seconds after which a route is tried again that could not be written or removed: a webhook or quota may allow it. */
const TRY_AGAIN = 120;

/** The route from outside. A deployment serves without it, so whatever becomes of it makes nothing else wait. */
export const outsideRoute: Part = {
  desired: ({ deployment, route: plan, revisions, target }) =>
    buildRouteObjects(deployment, plan, getMountPrefix(revisions, target)),
  report(facts) {
    const { route: plan, refused } = facts;
    const again = refused.some(isRoute) ? [TRY_AGAIN] : [];
    if (plan === undefined) return { again };
    const { hosts, path } = plan;
    return {
      statements: [{ type: ROUTED, ...decideRouted(facts) }, ...buildProxyConditions(facts)],
      ...(hosts.length > 0 && { status: { route: { hosts, path } } }),
      again,
    };
  },
};

const getMountPrefix = (
  revisions: DeploymentFacts['revisions'],
  name: string | undefined,
): string => findRevisionByName(revisions, name)?.status?.mountPrefix ?? '';

const isRoute = ({ object }: WrittenFacts['refused'][number]): boolean =>
  object.kind === 'HTTPRoute' || object.kind === 'Ingress';

/** Returns the route as it is stored now, or was before if it could not be written. */
function findLiveRoute({
  deployment,
  route: plan,
  written,
  children,
}: WrittenFacts): KubeObject | undefined {
  const name = names.route(deployment.metadata.name);
  const isMine = ({ kind, metadata }: KubeObject): boolean =>
    kind === plan?.settings.kind && metadata.name === name;
  return written.find(isMine) ?? children.find(isMine);
}

type Routed = Pick<StatedCondition, 'status' | 'reason' | 'message'>;
const buildUnrouted = (reason: string, message: string): Routed => ({
  status: 'False',
  reason,
  message,
});

/** Returns whether the deployment is reached by its route, and if not, the first reason. */
function decideRouted(facts: WrittenFacts): Routed {
  const { route: plan, refused, revisions, active } = facts;
  if (plan === undefined) return buildUnrouted('NoRoute', 'The deployment has no route.');
  const { settings, fault, path } = plan;
  if (plan.isKindMissing)
    return buildUnrouted(
      ROUTE_KIND_MISSING,
      `The cluster has no kind ${settings.kind} in the version v1. The route is made once it has.`,
    );
  if (fault !== undefined) return buildUnrouted(fault.reason, fault.message);
  const refusal = refused.find(isRoute);
  if (refusal !== undefined)
    return buildUnrouted(
      'RouteRefused',
      `The ${settings.kind} could not be written: ${refusal.message}`,
    );
  const mountPrefix = getMountPrefix(revisions, active);
  if (active !== undefined && settings.kind === 'Ingress' && isStripped(path, mountPrefix))
    return buildUnrouted('PathNotStripped', describeUnstripped(path, mountPrefix));
  const { isReached: _, ...answer } = readLiveAnswer(facts);
  return answer;
}

const describeUnstripped = (path: string, mountPrefix: string): string =>
  `An Ingress does not take the path ${path} from requests, and the server ${mountPrefix === '' ? 'has no mount prefix' : `has the mount prefix ${mountPrefix}`}. The two must be equal.`;

function readLiveAnswer(facts: WrittenFacts): RouteAnswer {
  const live = findLiveRoute(facts);
  if (live !== undefined) return readRouteAnswer(live);
  return {
    status: 'Unknown',
    reason: 'NotAnswered',
    message: 'The route is being made.',
    isReached: false,
  };
}

/** Returns the address from outside, once somebody leads callers there. */
export function findOutsideAddress(facts: WrittenFacts): string | undefined {
  const { route: plan, revisions, active } = facts;
  if (plan === undefined || plan.isKindMissing) return undefined;
  const mountPrefix = getMountPrefix(revisions, active);
  const isLost = plan.settings.kind === 'Ingress' && isStripped(plan.path, mountPrefix);
  return isLost || !readLiveAnswer(facts).isReached
    ? undefined
    : buildOutsideAddress(plan, mountPrefix);
}

/** States that no proxy is known to reach the agents, in place of a time-out that nobody understands. */
function buildProxyConditions({ deployment, settings }: WrittenFacts): StatedCondition[] {
  if (settings.routeProxies.length > 0 || isIngressOpen(deployment, settings)) return [];
  const message =
    'settings.route.proxies names no proxy. From outside of its namespace, only pods of namespaces with the label gx.dev/gateway=true reach the agents: without that label on the namespace of the proxy, requests by the route time out.';
  return [{ type: PROXY_NOT_ADMITTED, status: 'True', reason: 'NoProxyConfigured', message }];
}
