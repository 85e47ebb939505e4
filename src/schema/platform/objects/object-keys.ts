import { MANAGED_BY, PART_OF } from './labels.ts';

/*
 * Where the labels and annotations of a resource spec may stand. Controllers of a cluster obey some of them: clouds on
 * Services, meshes on pods, tools for backups on volume claims. So a key that something may obey goes to the one kind
 * of object for which an administrator allows it.
 */

/** Keys that an installation allows, by the kind of object that gets them: prefixes with their slash, or whole keys. */
export type ObjectKeys = {
  /** The agents' pods. */
  pods: readonly string[];
  /** The Service of the agents. */
  services: readonly string[];
  /** The volume claim of the database. */
  claims: readonly string[];
};

/** The role of an object in its deployment. `pods`: those of the agents. `services`: the Service that clients reach. */
export type ObjectRole = keyof ObjectKeys | 'others';

/** Keys without a prefix are the user's own, but for this one, which gives a pod an identity in a cloud. */
const IDENTITY = 'aadpodidbinding';
const COMMON = 'app.kubernetes.io/';
/**
 * Readers of metrics ask pods. On a Service they would ask each of them twice, and also the database, which has none.
 */
const METRICS = 'prometheus.io/';
/** Keys by which tools take an object for theirs: Argo CD removes one of an `instance` that does not list it. */
const OWNERS = [MANAGED_BY, PART_OF, `${COMMON}instance`];
const NAME = `${COMMON}name`;

const KEY = /^([a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const LABEL_VALUE = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;
/** Return true for texts that Kubernetes takes as a key, or as the value of a label. */
export const isKey = (key: string): boolean => KEY.test(key);
export const isLabelValue = (value: string): boolean => LABEL_VALUE.test(value);

/** Returns true if nothing obeys the key on any object. */
const isCommon = (key: string): boolean =>
  (!key.includes('/') && key !== IDENTITY) || (key.startsWith(COMMON) && !OWNERS.includes(key));

const isAmong = (key: string, allowed: readonly string[]): boolean =>
  allowed.some((one) => (one.endsWith('/') ? key.startsWith(one) : key === one));

/** Returns true if REST users may ask for the key. */
export const isAllowedKey = (key: string, { pods, services, claims }: ObjectKeys): boolean =>
  isCommon(key) || isAmong(key, [COMMON, METRICS, ...pods, ...services, ...claims]);

/** Returns true if an object of the role gets the key. One that nobody allows comes from kubectl, and goes to pods. */
function isKeyForRole(
  key: string,
  role: ObjectRole,
  { pods, services, claims }: ObjectKeys,
): boolean {
  if (isCommon(key)) return true;
  if (role === 'others') return false;
  const elsewhere = isAmong(key, [...services, ...claims]);
  return role === 'pods'
    ? !elsewhere || isAmong(key, pods)
    : isAmong(key, role === 'services' ? services : claims);
}

type Words = Record<string, string>;
export type GivenWords = { labels: Words; annotations: Words };

/**
 * Returns the labels and annotations of a resource spec that an object of the role gets. Those that the API server
 * refuses go to pods alone, so that the revision fails, and shared objects still apply.
 */
export function pickRoleMetadata(
  spec: { labels?: Words | null; annotations?: Words | null } | undefined,
  role: ObjectRole,
  keys: ObjectKeys = NO_KEYS,
): GivenWords {
  const filterWords = (
    words: Words | null | undefined,
    isValue: (value: string) => boolean,
  ): Words =>
    Object.fromEntries(
      Object.entries(words ?? {}).filter(([key, value]) => {
        const isRefused = !isKey(key) || !isValue(value);
        return (
          isKeyForRole(key, role, keys) &&
          !isDisguise(key, value) &&
          (role === 'pods' || !isRefused)
        );
      }),
    );
  return {
    labels: filterWords(spec?.labels, isLabelValue),
    annotations: filterWords(spec?.annotations, () => true),
  };
}

export const NO_KEYS: ObjectKeys = { pods: [], services: [], claims: [] };

/**
 * Returns true for the label by which the platform's own Services find their pods. An agent with it would receive
 * requests, and keys, meant for them.
 */
export const isDisguise = (key: string, value: string): boolean =>
  key === NAME && value === 'gx-platform';
