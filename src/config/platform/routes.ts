import { describeNearestName } from '../../nearest-name.ts';
import { isComposite, isObject } from '../../schema/json.ts';
import { isKey, isLabelValue } from '../../schema/platform/objects/object-keys.ts';
import {
  GRANTED_HOST,
  checkRoutePatterns,
  ROUTE_KINDS,
  isUniquePattern,
  type PlacePatterns,
  type RouteKind,
} from '../../schema/platform/spec/route-place.ts';
import type { SettingsReader } from '../env.ts';
import { type SettingCheck, isAnyText, isNonEmptyText, buildListCheck } from './checks.ts';

type Words = Record<string, string>;

/** The object that a route is attached to, mostly a Gateway, as an HTTPRoute names it. */
export type ParentRef = {
  name: string;
  namespace?: string;
  sectionName?: string;
  port?: number;
  group?: string;
  kind?: string;
};

const TIMEOUTS = ['auto', 'always', 'never'] as const;
type RouteTimeouts = (typeof TIMEOUTS)[number];

/** How the deployments of an installation are reached from outside. */
export type RouteSettings = PlacePatterns & {
  kind: RouteKind;
  /** True if many deployments have the host, and differ by their paths. */
  isHostShared: boolean;
  parentRefs: ParentRef[];
  /** The class of an Ingress. Unset: the default class of the cluster. */
  className?: string;
  /** The scheme of the addresses of HTTPRoutes, whose parents decide about TLS. */
  scheme: 'http' | 'https';
  /** Whether HTTPRoutes ask for no time limit: always, never, or if the Gateways' class is not known to lack that. */
  timeouts: RouteTimeouts;
  /** The TLS of an Ingress: a Secret of the deployment's namespace, or annotations by which somebody makes one. */
  tls?: { secretName?: string; annotations: Words };
  labels: Words;
  annotations: Words;
  /** Hosts that no deployment gets, in the form of a Listener's: the platform's own, and those of its settings. */
  reservedHosts: string[];
};

export type Routes = {
  /** Unset: deployments have no routes. */
  route?: RouteSettings;
  /** Kinds of earlier routes, which are removed. */
  formerRoutes: RouteKind[];
  /** Peers, as a NetworkPolicy writes them, that bring the requests of routes. */
  routeProxies: object[];
};

const isPort: SettingCheck = (value) =>
  Number.isInteger(value) && (value as number) > 0 && (value as number) <= 65_535;
const isWords =
  (check: (value: string) => boolean): SettingCheck =>
  (value) =>
    isObject(value) &&
    Object.entries(value).every(
      ([key, word]) => isKey(key) && typeof word === 'string' && check(word),
    );
const hasFields =
  (fields: Record<string, SettingCheck>, needed: readonly string[] = []): SettingCheck =>
  (value) =>
    isObject(value) &&
    needed.every((name) => name in value) &&
    Object.entries(value).every(
      ([name, inner]) => inner === null || fields[name]?.(inner) === true,
    );

const isKind: SettingCheck = (value) => ROUTE_KINDS.some((kind) => kind === value);
const isParent = hasFields(
  {
    name: isNonEmptyText,
    namespace: isNonEmptyText,
    sectionName: isNonEmptyText,
    port: isPort,
    group: isAnyText,
    kind: isNonEmptyText,
  },
  ['name'],
);
/** The fields of a NetworkPolicy's peer. */
const PEER = { podSelector: isComposite, namespaceSelector: isComposite, ipBlock: isComposite };
const isPeer: SettingCheck = (value) =>
  hasFields(PEER)(value) && Object.keys(value as object).length > 0;

/** The fields of GX_ROUTE, which are those of the chart's settings.route. */
const FIELDS: Record<string, SettingCheck> = {
  kind: (value) => value === 'None' || isKind(value),
  former: buildListCheck(isKind),
  parentRefs: buildListCheck(isParent),
  className: isAnyText,
  host: isAnyText,
  path: isAnyText,
  timeouts: (value) => TIMEOUTS.some((word) => word === value),
  scheme: (value) => value === 'http' || value === 'https',
  tls: hasFields({
    enabled: (value) => typeof value === 'boolean',
    secretName: isAnyText,
    annotations: isWords(() => true),
  }),
  labels: isWords(isLabelValue),
  annotations: isWords(() => true),
  proxies: buildListCheck(isPeer),
  reservedHosts: buildListCheck(
    (value) => typeof value === 'string' && new RegExp(GRANTED_HOST).test(value),
  ),
};

type RouteValues = {
  kind: RouteKind | 'None';
  former: RouteKind[];
  parentRefs: ParentRef[];
  className: string;
  host: string;
  path: string;
  scheme: 'http' | 'https';
  timeouts: RouteTimeouts;
  tls: { enabled: boolean; secretName: string; annotations: Words };
  labels: Words;
  annotations: Words;
  proxies: object[];
  reservedHosts: string[];
};
const TLS: RouteValues['tls'] = { enabled: false, secretName: '', annotations: {} };
const USUAL: RouteValues = {
  kind: 'None',
  former: [],
  parentRefs: [],
  className: '',
  host: '',
  path: '/',
  scheme: 'https',
  timeouts: 'auto',
  tls: TLS,
  labels: {},
  annotations: {},
  proxies: [],
  reservedHosts: [],
};

/** Reads the settings of routes of the namespaces; none means any. With a single one, a pattern need not name it. */
export function readRoutes(read: SettingsReader, namespaces: readonly string[]): Routes {
  const given = readRouteSetting(read);
  const faults = given.kind === 'None' ? [] : checkRoutePatterns(given, namespaces);
  for (const fault of [...listContradictions(given), ...faults])
    read.addProblem(`GX_ROUTE ${fault}`);
  const { kind, former, proxies } = given;
  return {
    ...(kind !== 'None' && { route: buildRouteSettings(given, kind, namespaces) }),
    formerRoutes: former,
    routeProxies: proxies,
  };
}

function readRouteSetting(read: SettingsReader): RouteValues {
  const value = read.readJson(['GX_ROUTE']) ?? {};
  if (!isObject(value)) {
    read.addProblem('GX_ROUTE must be an object in JSON');
    return USUAL;
  }
  const wrong = Object.keys(value).filter((name) => FIELDS[name]?.(value[name]) !== true);
  for (const name of wrong)
    read.addProblem(
      `GX_ROUTE ${name} is ${name in FIELDS ? 'wrong' : 'not a field of it'} (docs/how-to/reach.md)${name in FIELDS ? '' : describeNearestName(name, Object.keys(FIELDS))}`,
    );
  // Each field is of its type by its check.
  const { tls = {}, ...rest } = (wrong.length > 0 ? {} : value) as Partial<
    Omit<RouteValues, 'tls'>
  > & {
    tls?: Partial<RouteValues['tls']>;
  };
  return { ...USUAL, ...rest, tls: { ...TLS, ...tls } };
}

function buildRouteSettings(
  given: RouteValues,
  kind: RouteKind,
  namespaces: readonly string[],
): RouteSettings {
  const {
    parentRefs,
    className,
    host,
    path,
    scheme,
    timeouts,
    tls,
    labels,
    annotations,
    reservedHosts,
  } = given;
  const isHostShared = !isUniquePattern(host, namespaces);
  const certificate = {
    ...(tls.secretName !== '' && { secretName: tls.secretName }),
    annotations: tls.annotations,
  };
  const ofKind = {
    ...(className !== '' && { className }),
    ...(tls.enabled && { tls: certificate }),
  };
  return {
    kind,
    isHostShared,
    parentRefs,
    ...ofKind,
    host,
    path,
    scheme,
    timeouts,
    labels,
    annotations,
    reservedHosts,
  };
}

/** Returns the contradictions of the settings, each as the end of a sentence. */
function listContradictions({ kind, former, parentRefs, className, tls }: RouteValues): string[] {
  const [isHttp, isIngress] = [kind === 'HTTPRoute', kind === 'Ingress'];
  const hasNoCertificate = tls.secretName === '' && Object.keys(tls.annotations).length === 0;
  const faults: [string, boolean][] = [
    ['of kind HTTPRoute needs parentRefs', isHttp && parentRefs.length === 0],
    [
      'of kind Ingress has parentRefs, which are those of an HTTPRoute: a deployment has one route',
      isIngress && parentRefs.length > 0,
    ],
    [
      'of kind HTTPRoute has className, which is that of an Ingress: a deployment has one route',
      isHttp && className !== '',
    ],
    ['of kind HTTPRoute has tls, which its Gateway decides about', isHttp && tls.enabled],
    [
      'has tls without a secretName, or annotations by which an issuer makes one',
      tls.enabled && hasNoCertificate,
    ],
    [`has the kind ${kind} also among the former ones`, former.some((one) => one === kind)],
  ];
  return faults.flatMap(([sentence, isTrue]) => (isTrue ? [sentence] : []));
}
