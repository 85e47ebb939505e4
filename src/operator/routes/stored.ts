import type { ParentRef } from '../../config/platform/routes.ts';
import type { KubeObject } from '../../kube/kube.ts';
import type { Condition } from '../../schema/platform/objects/conditions.ts';

/*
 * Routes as the API server stores them: the places that they claim, and the answers of those who carry them out.
 */

type Ingress = {
  spec?: { rules?: { host?: string; http?: { paths?: { path?: string }[] } }[] };
  status?: { loadBalancer?: { ingress?: object[] } };
};
type Parent = { parentRef?: ParentRef; conditions?: Condition[] };
type HttpRoute = {
  spec?: {
    parentRefs?: ParentRef[];
    hostnames?: string[];
    rules?: { matches?: { path?: { value?: string } }[] }[];
  };
  status?: { parents?: Parent[] };
};

const isIngress = ({ kind }: KubeObject): boolean => kind === 'Ingress';

/** Returns the place of a host and a path as one text, by which routes are compared. */
export const formatRoutePlace = (host: string, path: string): string => `${host}${path}`;

/** Returns the places that a route claims. */
export function listRoutePlaces(route: KubeObject): string[] {
  if (isIngress(route)) {
    const { rules = [] } = (route as Ingress).spec ?? {};
    return rules.flatMap(({ host = '', http }) =>
      (http?.paths ?? []).map(({ path = '/' }) => formatRoutePlace(host, path)),
    );
  }
  const { hostnames = [], rules = [] } = (route as HttpRoute).spec ?? {};
  const paths = rules.flatMap(({ matches = [] }) => matches.map(({ path }) => path?.value ?? '/'));
  return hostnames.flatMap((host) => paths.map((path) => formatRoutePlace(host, path)));
}

/** The conditions of a parent, in the order in which one is reported. */
const READ = ['Accepted', 'ResolvedRefs'];

/** Returns the part of the status that a reconcile reads. */
export function pickRouteStatus(route: KubeObject): object {
  if (isIngress(route)) return { hasAddress: hasAddress(route) };
  return {
    parents: listParents(route).map(({ parentRef, conditions }) => ({
      parentRef,
      conditions: conditions.map(pickConditionFields),
    })),
  };
}

const hasAddress = (route: KubeObject): boolean =>
  ((route as Ingress).status?.loadBalancer?.ingress ?? []).length > 0;

const listParents = (route: KubeObject): Required<Parent>[] =>
  ((route as HttpRoute).status?.parents ?? []).map(
    ({ parentRef = { name: '' }, conditions = [] }) => ({
      parentRef,
      conditions: conditions.filter(({ type }) => READ.includes(type)),
    }),
  );

const pickConditionFields = ({
  type,
  status,
  reason,
  message,
  observedGeneration,
}: Condition): object => ({
  type,
  status,
  reason,
  message,
  observedGeneration,
});

/** The answer of those who carry out a route. `isReached`: some of them lead callers to the deployment. */
export type RouteAnswer = {
  status: 'True' | 'False' | 'Unknown';
  reason: string;
  message: string;
  isReached: boolean;
};

/** Returns the answer that a route has got. */
export const readRouteAnswer = (route: KubeObject): RouteAnswer =>
  isIngress(route) ? readIngressAnswer(route) : mergeParentAnswers(route);

const readIngressAnswer = (route: KubeObject): RouteAnswer =>
  hasAddress(route)
    ? {
        status: 'True',
        reason: 'HasAddress',
        message: 'The Ingress has the address of a load balancer.',
        isReached: true,
      }
    : buildUnknownAnswer(
        'NoAddressYet',
        'No controller has given the Ingress an address yet. Some controllers never do.',
      );

const buildUnknownAnswer = (reason: string, message: string): RouteAnswer => ({
  status: 'Unknown',
  reason,
  message,
  isReached: false,
});

/** Returns the answer of all parents: the first refusal, or else that one has not answered, or that all accept. */
function mergeParentAnswers(route: KubeObject): RouteAnswer {
  const { parentRefs = [] } = (route as HttpRoute).spec ?? {};
  const answers = parentRefs.map((ref) => readParentAnswer(route, ref));
  const isReached = answers.some((answer) => answer.isReached);
  const worst =
    answers.find(({ status }) => status === 'False') ??
    answers.find(({ status }) => status === 'Unknown') ??
    answers[0];
  return {
    ...(worst ?? buildUnknownAnswer('NotAnswered', 'The HTTPRoute names no parent.')),
    isReached,
  };
}

function readParentAnswer(route: KubeObject, ref: ParentRef): RouteAnswer {
  const name = `${ref.kind ?? 'Gateway'} ${ref.namespace ?? route.metadata.namespace}/${ref.name}`;
  const { generation = 0 } = route.metadata;
  const entries = listParents(route).filter(({ parentRef }) => isSameParent(route, parentRef, ref));
  const conditions = entries
    .flatMap((entry) => entry.conditions)
    .filter(({ observedGeneration = generation }) => observedGeneration >= generation);
  const refusal = READ.flatMap((type) =>
    conditions.filter((one) => one.type === type && one.status === 'False'),
  )[0];
  if (refusal !== undefined)
    return {
      status: 'False',
      reason: refusal.reason,
      message: `${name} answers ${refusal.type} False: ${refusal.message}`,
      isReached: false,
    };
  if (conditions.some(({ type, status }) => type === 'Accepted' && status === 'True'))
    return {
      status: 'True',
      reason: 'Accepted',
      message: `${name} accepts the route.`,
      isReached: true,
    };
  return buildUnknownAnswer(
    'NotAnswered',
    `${name} has not answered yet. It may not exist, or no controller works for it.`,
  );
}

/** Returns whether two references name the same parent, with the usual values in place of those left out. */
function isSameParent({ metadata }: KubeObject, one: ParentRef, other: ParentRef): boolean {
  const expandReference = ({
    group = 'gateway.networking.k8s.io',
    kind = 'Gateway',
    namespace = metadata.namespace,
    ...rest
  }: ParentRef): unknown[] => [group, kind, namespace, rest.name, rest.sectionName, rest.port];
  const [left, right] = [expandReference(one), expandReference(other)];
  return left.every((value, index) => value === right[index]);
}
