import { GROUP } from '../schema/platform/objects/api-group.ts';
import type { RouteKind } from '../schema/platform/spec/route-place.ts';
import type { PolicyRule } from '../schema/platform/spec/policy-rule.ts';
import type { KindRow, KindTable, RightPlace } from './kinds/row.ts';
import { OPERATOR_KINDS } from './kinds/table.ts';

const buildRowRules = (place: RightPlace, { kind, rights }: KindRow): PolicyRule[] =>
  rights.flatMap(({ at, verbs, part, only }) => {
    const group = kind.apiVersion.includes('/')
      ? kind.apiVersion.slice(0, kind.apiVersion.indexOf('/'))
      : '';
    const resource = part === undefined ? kind.plural : `${kind.plural}/${part}`;
    return at === place
      ? [
          {
            apiGroups: [group],
            resources: [resource],
            ...(only && { resourceNames: [only] }),
            verbs: [...verbs],
          },
        ]
      : [];
  });

/** Returns one rule per resource with all its verbs, sorted as a chart prints them. */
export function mergeRules(rules: PolicyRule[]): PolicyRule[] {
  const verbs = new Map<string, Set<string>>();
  for (const rule of rules) {
    for (const apiGroup of rule.apiGroups) {
      for (const resource of rule.resources) {
        const key = `${apiGroup}/${resource}`;
        verbs.set(key, new Set([...(verbs.get(key) ?? []), ...rule.verbs]));
      }
    }
  }
  return [...verbs]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, words]) => {
      const slash = key.indexOf('/');
      return {
        apiGroups: [key.slice(0, slash)],
        resources: [key.slice(slash + 1)],
        verbs: [...words].toSorted((a, b) => (a < b ? -1 : 1)),
      };
    });
}

/** Verbs that let somebody start pods or open a way to them, and with pods read every Secret of the namespace. */
const MAKING = ['create', 'patch', 'update'];
const READING_PODS = ['pods/log'];

/** Returns the part of a rule that may be granted where nobody agreed that agents run. */
function stripMakingVerbs(rule: PolicyRule): PolicyRule[] {
  const [group = '', resource = ''] = [rule.apiGroups[0], rule.resources[0]];
  if (group === GROUP || group === 'events.k8s.io') return [rule];
  const verbs = rule.verbs.filter((verb) => !MAKING.includes(verb));
  return READING_PODS.includes(resource) || verbs.length === 0 ? [] : [{ ...rule, verbs }];
}

/**
 * Returns the permissions of an operator that works with the kinds of a table: in each namespace that it watches (a
 * ClusterRole if these are all), in each namespace of agents, where it makes workloads and uses Secrets, in its own
 * namespace (`own` and `ports`), in those of builds and of git credentials, on the one object that says where the API
 * server is, and on nodes. `staged` are those of the second that only builds in stages need. `routes` are those on each
 * kind of routes, which an installation grants that has them, and `parents` those in all namespaces on their parents.
 */
export function buildAccessRules(table: KindTable) {
  const collectRules = (...places: RightPlace[]): PolicyRule[] =>
    places.flatMap((place) => Object.values(table).flatMap((row) => buildRowRules(place, row)));
  const worked = mergeRules(collectRules('worked', 'staged'));
  const buildRouteRules = (kind: RouteKind) => ({
    watched: mergeRules(collectRules(kind)).flatMap(stripMakingVerbs),
    worked: mergeRules(collectRules(kind)),
  });
  return {
    watched: worked.flatMap(stripMakingVerbs),
    worked,
    staged: collectRules('staged'),
    secrets: mergeRules(collectRules('secrets')),
    own: mergeRules(collectRules('own')),
    ports: collectRules('ports'),
    apiServer: collectRules('apiServer'),
    builds: mergeRules(collectRules('builds')),
    buildkit: mergeRules(collectRules('buildkit')),
    git: mergeRules(collectRules('git')),
    nodes: mergeRules(collectRules('nodes')),
    parents: mergeRules(collectRules('parents')),
    routes: { HTTPRoute: buildRouteRules('HTTPRoute'), Ingress: buildRouteRules('Ingress') },
  };
}

export const operatorAccess = buildAccessRules(OPERATOR_KINDS);
