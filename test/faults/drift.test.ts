import { expect, test } from 'vitest';
import { Conflict } from '../../src/errors.ts';
import { KubeRefused } from '../../src/kube/errors.ts';
import { kinds } from '../../src/kube/kinds.ts';
import type { JsonPatch, Kind, KubeObject } from '../../src/kube/kube.ts';
import { hasAllValues } from '../../src/operator/kernel/owned.ts';
import { until } from '../kit/until.ts';
import { deploy, untilSettled } from './life.ts';
import { inLanes, faultStage, untilQuiet, type FaultStage } from './fault-stage.ts';

/*
 * Somebody else changes and removes every single field that the operator owns, according to the API server's managed
 * fields.
 */
const REPAIRED_WITHIN = 2;
const OPERATOR = 'gx-operator';
const KINDS: Kind[] = [kinds.service, kinds.networkPolicy, kinds.statefulSet, kinds.workload];

type Fields = { [field: string]: Fields };
type Managed = { managedFields?: { manager: string; subresource?: string; fieldsV1: Fields }[] };
type Change = { object: KubeObject; kind: Kind; path: string; patch: JsonPatch };

/**
 * Returns JSON pointers to the fields of an object that the operator owns. They are the leaves of its managed fields,
 * where list entries are named by a key.
 */
function ownedPaths(object: KubeObject): string[] {
  const { managedFields = [] } = object.metadata as Managed;
  const fields =
    managedFields.find(
      ({ manager, subresource }) => manager === OPERATOR && subresource === undefined,
    )?.fieldsV1 ?? {};
  return leaves(fields, object, '');
}

function leaves(fields: Fields, value: unknown, path: string): string[] {
  const entries = Object.entries(fields).filter(([name]) => name !== '.');
  if (entries.length === 0) return [path];
  return entries.flatMap(([name, below]) => {
    const step = stepOf(name, value);
    return step === undefined
      ? []
      : leaves(
          below,
          (value as Record<string, unknown>)[step],
          `${path}/${step.replaceAll('~', '~0').replaceAll('/', '~1')}`,
        );
  });
}

function stepOf(name: string, value: unknown): string | undefined {
  if (name.startsWith('f:')) return name.slice(2);
  if (!name.startsWith('k:') || !Array.isArray(value)) return undefined;
  const key = JSON.parse(name.slice(2)) as object;
  const index = value.findIndex((item) => hasAllValues(item, key));
  return index < 0 ? undefined : String(index);
}

const at = (object: unknown, path: string): unknown =>
  path
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((value, step) => (value as Record<string, unknown> | undefined)?.[step], object);

const other = (value: unknown): unknown => {
  if (typeof value === 'number') return value + 1;
  if (typeof value === 'boolean') return !value;
  if (typeof value === 'string') return value.replace(/.$/, (last) => (last === 'x' ? 'y' : 'x'));
  return undefined;
};

function changesOf(kind: Kind, object: KubeObject): Change[] {
  return ownedPaths(object).flatMap((path) => {
    const value = other(at(object, path));
    const removed: Change = {
      kind,
      object,
      path: `${path} removed`,
      patch: [{ op: 'remove', path }],
    };
    return value === undefined
      ? [removed]
      : [{ kind, object, path, patch: [{ op: 'replace', path, value }] }, removed];
  });
}

type Repair = { path: string; seconds: number } | 'refused';

/** Returns the seconds until everything that the operator owned is there again. */
async function repair(
  { kube }: FaultStage,
  { kind, object, path, patch }: Change,
): Promise<Repair> {
  const ref = { namespace: object.metadata.namespace, name: object.metadata.name };
  const { labels, ownerReferences } = object.metadata;
  // The Kubernetes controller of workloads numbers templates in this annotation.
  const { 'deployment.kubernetes.io/revision': _, ...annotations } =
    object.metadata.annotations ?? {};
  const wanted = { metadata: { labels, annotations, ownerReferences }, spec: object.spec };
  try {
    const changed = await kube.patchJson(kind, ref, patch);
    if (changed.metadata.resourceVersion === object.metadata.resourceVersion) return 'refused';
  } catch (error) {
    if (error instanceof KubeRefused || error instanceof Conflict) return 'refused';
    throw error;
  }
  const started = performance.now();
  const isBack = async (): Promise<boolean> => hasAllValues(await kube.get(kind, ref), wanted);
  await until(`${kind.kind} ${ref.name}: ${path} is as it was`, isBack, 4000).catch(
    () => undefined,
  );
  const seconds = (performance.now() - started) / 1000;
  return { path: `${kind.kind} ${ref.name} ${path}`, seconds };
}

test('a foreign change of any field that the operator owns is repaired within 2 s', async () => {
  const given = await faultStage('drift');
  const operator = await given.operator();
  await deploy(given);
  await untilSettled(given);
  await untilQuiet(given);
  const { kube, namespace } = given;
  const lists = await Promise.all(
    KINDS.map(async (kind) =>
      (await kube.listAll(kind, { namespace })).map((object) => changesOf(kind, object)),
    ),
  );
  const repairs = (
    await inLanes(lists.flat(), async (changes) => {
      const done: Repair[] = [];
      for (const change of changes) done.push(await repair(given, change));
      return done;
    })
  ).flat();
  const repaired = repairs
    .filter((done) => done !== 'refused')
    .toSorted((a, b) => a.seconds - b.seconds);
  const quantile = (share: number): string =>
    (repaired[Math.floor(share * (repaired.length - 1))]?.seconds ?? 0).toFixed(2);
  process.stdout.write(
    `${repairs.length} changes of owned fields: ${repairs.length - repaired.length} refused by the API server or without effect, ${repaired.length} repaired, p50 ${quantile(0.5)} s, p99 ${quantile(0.99)} s, longest ${quantile(1)} s\n`,
  );
  expect(repaired.length).toBeGreaterThan(50);
  expect(repaired.filter(({ seconds }) => seconds > REPAIRED_WITHIN)).toEqual([]);
  await operator.stop();
  await given.stop();
});
