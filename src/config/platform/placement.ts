import { describeNearestName } from '../../nearest-name.ts';
import { isComposite, isObject } from '../../schema/json.ts';
import type { SettingsReader } from '../env.ts';
import { type SettingCheck, isAnyText, buildListCheck } from './checks.ts';

/** Where pods stand, in the fields and words of Kubernetes. The cluster decides about fields that are unset. */
export type PodPlace = {
  nodeSelector?: Record<string, string>;
  tolerations?: object[];
  affinity?: object;
  priorityClassName?: string;
  runtimeClassName?: string;
  /** A constraint without a labelSelector is about the pods of its own workload. */
  topologySpreadConstraints?: object[];
};

/** The kinds of pods that an installation places apart. */
const PLACED = ['agents', 'databases', 'stores', 'builds'] as const;
export type PodPlaces = Record<(typeof PLACED)[number], PodPlace>;

const FIELDS: Record<keyof PodPlace, SettingCheck> = {
  nodeSelector: (value) => isObject(value) && Object.values(value).every(isAnyText),
  tolerations: buildListCheck(isObject),
  affinity: isObject,
  priorityClassName: isAnyText,
  runtimeClassName: isAnyText,
  topologySpreadConstraints: buildListCheck(isObject),
};

/** Returns the fields that a kind of pods has. Each but agents has one pod a deployment, which can't be spread. */
const getFieldChecks = (placed: string): Partial<Record<string, SettingCheck>> => {
  const { topologySpreadConstraints, ...others } = FIELDS;
  return placed === 'agents' ? { ...others, topologySpreadConstraints } : others;
};

/** Reads where pods stand. */
export function readPlacements(read: SettingsReader): PodPlaces {
  const given = read.readJson(['GX_PLACEMENT']) ?? {};
  const faults = checkPlacements(given);
  for (const fault of faults) read.addProblem(`GX_PLACEMENT ${fault}`);
  const places = (faults.length > 0 ? {} : given) as Partial<PodPlaces>;
  const { agents, databases, stores, builds } = places;
  return {
    agents: pickSetFields(agents),
    databases: pickSetFields(databases),
    stores: pickSetFields(stores),
    builds: pickSetFields(builds),
  };
}

function checkPlacements(given: unknown): string[] {
  if (!isObject(given)) return ['must be an object in JSON'];
  return Object.entries(given).flatMap(([placed, place]) => {
    if (!PLACED.some((known) => known === placed))
      return [`${placed} is none of ${PLACED.join(', ')}`];
    if (!isObject(place)) return [`${placed} must be an object`];
    const fields = getFieldChecks(placed);
    const wrong = Object.keys(place).filter((name) => fields[name]?.(place[name]) !== true);
    return wrong.map(
      (name) =>
        `${placed}.${name} is ${name in fields ? 'wrong' : 'not a field of it'} (docs/how-to/install.md)${name in fields ? '' : describeNearestName(name, Object.keys(fields))}`,
    );
  });
}

const pickSetFields = (place: PodPlace = {}): PodPlace =>
  Object.fromEntries(
    Object.entries(place).filter(([, value]) =>
      isComposite(value) ? Object.keys(value).length > 0 : value !== '',
    ),
  );
