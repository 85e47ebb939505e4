import type { KubeObject } from '../../src/kube/kube.ts';
import { formatCanonicalJson } from '../../src/schema/canonical-json.ts';
import { DEPLOYMENT } from '../../src/schema/platform/objects/labels.ts';
import type { Entry } from '../kit/fault-proxy.ts';

/** Everything in a namespace that the operator made or works on, and the requests that led there. */
export type World = { namespace: string; objects: KubeObject[]; journal: Entry[] };

/**
 * Compares a world that went through a fault with the same world without one, and returns what is wrong. The objects
 * must be equal. None may lack its owner, be created more often, or be deleted unless it was also deleted without the
 * fault.
 */
export function faultsOf(world: World, clean: World): string[] {
  return [
    ...differences(world, clean),
    ...orphans(world),
    ...createdTwice(world, clean),
    ...deletedWrongly(world, clean),
  ];
}

/** The differences that heal within time. What was made too often, or removed wrongly, never does. */
export const differences = (world: World, clean: World): string[] => {
  const [seen, wanted] = [normalised(world), normalised(clean)];
  const keys = [...new Set([...seen.keys(), ...wanted.keys()])].toSorted();
  return keys.flatMap((key) => {
    const [is, ought] = [seen.get(key), wanted.get(key)];
    if (is === undefined) return [`missing: ${key}`];
    if (ought === undefined) return [`left over: ${key}`];
    return is === ought ? [] : [`${key} differs: ${firstDifference(is, ought)}`];
  });
};

function firstDifference(is: string, ought: string): string {
  let at = 0;
  while (is[at] === ought[at]) at += 1;
  const around = (text: string): string => text.slice(Math.max(0, at - 60), at + 60);
  return `${around(is)} INSTEAD OF ${around(ought)}`;
}

/**
 * Returns the text of each object by kind and name. Pods, replica sets and the slices of Services have random names, so
 * they are counted by content.
 */
function normalised({ namespace, objects }: World): Map<string, string> {
  const texts = new Map<string, string>();
  const counts = new Map<string, number>();
  for (const object of objects) {
    const text = plain(object, namespace);
    const key = plain(`${object.kind} ${object.metadata.name}`, namespace).slice(1, -1);
    if (!COUNTED.includes(object.kind)) texts.set(key, text);
    else counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  for (const [text, count] of counts) texts.set(text, String(count));
  return texts;
}

const COUNTED = ['Pod', 'ReplicaSet', 'EndpointSlice'];

/**
 * Returns an object without what differs between two runs: uids, versions, times, hashes of them, addresses, and values
 * of Secrets.
 */
function plain(value: KubeObject | string, namespace: string): string {
  const kept = typeof value === 'string' ? value : without(value);
  return formatCanonicalJson(kept)
    .replaceAll(namespace, '<namespace>')
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '<uid>')
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, '<time>')
    .replaceAll(/(?<=Template":")[^"]+/g, '<seen>')
    .replaceAll(/(?<=["/-])[0-9a-f]{8}(?=["/-])/g, '<hash>')
    .replaceAll(/(?<=")(?:[0-9a-f]{32}|[\w-]{43})(?=")/g, '<hash>');
}

const UNTOLD = [
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'managedFields',
  'deletionGracePeriodSeconds',
  'generateName',
];
const OURS = ['Deployment', 'Revision'];

function without({ apiVersion, kind, metadata, ...rest }: KubeObject): object {
  const kept = Object.fromEntries(
    Object.entries(metadata).filter(([name]) => !UNTOLD.includes(name)),
  );
  if (COUNTED.includes(kind)) return counted({ apiVersion, kind, metadata, ...rest });
  const { status, spec, data, ...more } = rest;
  const { clusterIP: _, clusterIPs: _ips, ...stable } = (spec ?? {}) as Record<string, unknown>;
  const isOurs = OURS.includes(kind) && apiVersion.startsWith('gx.dev/');
  return {
    kind,
    metadata: kept,
    ...more,
    spec: stable,
    data: keysOf(data ?? {}),
    ...(isOurs && { status }),
  };
}

/** A password that came later than the first has a verifier, by which the database learned of it. */
const keysOf = (data: object): string[] =>
  Object.keys(data)
    .filter((key) => key !== 'verifier')
    .toSorted();

function counted({
  kind,
  metadata,
  spec = {},
  status,
  endpoints,
}: KubeObject & { endpoints?: unknown[] | null }): object {
  const {
    'pod-template-hash': _,
    'controller-revision-hash': _revision,
    ...labels
  } = metadata.labels ?? {};
  const owner = metadata.ownerReferences?.[0];
  const { replicas } = spec as { replicas?: number };
  const { phase } = (status ?? {}) as { phase?: string };
  const going = metadata.deletionTimestamp !== undefined;
  return { kind, labels, owner: owner?.kind, replicas, phase, endpoints: endpoints?.length, going };
}

/**
 * Returns objects whose owner is gone, and objects that were made for a missing deployment and keep none of its data.
 */
function orphans({ objects, namespace }: World): string[] {
  const living = new Set(objects.map(({ metadata }) => metadata.uid));
  const deployments = new Set(objects.filter(isDeployment).map(({ metadata }) => metadata.name));
  return objects.flatMap((object) => {
    const { kind, metadata } = object;
    const name = plain(`${kind} ${metadata.name}`, namespace);
    const lost = (metadata.ownerReferences ?? []).filter(({ uid }) => !living.has(uid));
    if (lost.length > 0)
      return [
        `orphaned: ${name}, whose owner ${lost.map((owner) => `${owner.kind} ${owner.name}`).join(', ')} is gone`,
      ];
    const made = metadata.annotations?.[DEPLOYMENT];
    const isStray = made !== undefined && !deployments.has(made) && !KEPT.includes(kind);
    return isStray ? [`orphaned: ${name}, made for ${made}, which is gone`] : [];
  });
}

const isDeployment = ({ kind, apiVersion }: KubeObject): boolean =>
  kind === 'Deployment' && apiVersion.startsWith('gx.dev/');

/** What Retain keeps of a database. */
const KEPT = ['Secret', 'PersistentVolumeClaim'];

const CREATED = 201;

function createdTwice(world: World, clean: World): string[] {
  const [seen, usual] = [world, clean].map(creations) as [Map<string, number>, Map<string, number>];
  return [...seen].flatMap(([key, count]) =>
    count > Math.max(1, usual.get(key) ?? 0) ? [`created ${count} times: ${key}`] : [],
  );
}

function creations({ namespace, journal }: World): Map<string, number> {
  const counts = new Map<string, number>();
  for (const entry of journal.filter(
    ({ status, resource }) => status === CREATED && resource !== 'events' && resource !== 'leases',
  )) {
    const key = keyOf(entry, namespace);
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}

const keyOf = ({ resource, name }: Entry, namespace: string): string =>
  plain(`${resource} ${name}`, namespace).slice(1, -1);

/** An object that other controllers remove first is deleted in vain in one run and for real in another. */
function deletedWrongly(world: World, clean: World): string[] {
  const usual = new Set(
    clean.journal.filter(isDeletion).map((entry) => keyOf(entry, clean.namespace)),
  );
  const done = world.journal.filter(
    (entry) => isDeletion(entry) && entry.status < 300 && entry.status > 0,
  );
  return [...new Set(done.map((entry) => keyOf(entry, world.namespace)))]
    .filter((key) => !usual.has(key))
    .map((key) => `deleted: ${key}`);
}

const isDeletion = ({ verb }: Entry): boolean => verb === 'delete';
