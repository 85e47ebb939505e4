import { expect, test } from 'vitest';
import { KubeRefused } from '../../src/kube/errors.ts';
import { kinds, type KubeObject } from '../../src/kube/kube.ts';
import { DeploymentSpec, type DeploymentResource } from '../../src/schema/custom-resources.ts';
import { DEPLOYMENT, REVISION } from '../../src/schema/labels.ts';
import { until } from '../kit/api-server.ts';
import { newDeployment } from '../kit/objects.ts';
import { differences, type World } from './oracle.ts';
import { inLanes, scene, type Scene } from './scene.ts';
import { variantsOf, type Variant } from './values.ts';

/*
 * Every property of a deployment is set to usual, extreme and impossible values, one after the other, by the door that kubectl takes. Each is
 * refused with a sentence, or ends as Ready or Stalled with a reason; with the first spec again, the children are those of the beginning.
 */
const LANES = 6;
/** Changes in one step: each was accepted alone before. */
const AT_A_TIME = 3;
const END_WITHIN = 30_000;

const base = (namespace: string, name: string): DeploymentResource =>
  newDeployment(namespace, { metadata: { name }, spec: { progressDeadlineSeconds: 10, revisionHistoryLimit: 1 } });

const put = ({ kube, namespace }: Scene, name: string, spec: unknown, dryRun = false): Promise<DeploymentResource> =>
  kube.jsonPatch(kinds.deployment, { namespace, name }, [{ op: 'replace', path: '/spec', value: spec }], { dryRun });

type Verdict = { variant: Variant; refusal?: KubeRefused };

async function asked(given: Scene, name: string, variant: Variant): Promise<Verdict> {
  try {
    await put(given, name, variant.value, true);
    return { variant };
  } catch (error) {
    if (!(error instanceof KubeRefused)) throw new Error(`${variant.path}: not refused, but failed`, { cause: error });
    return { variant, refusal: error };
  }
}

/** Ready, or Stalled with a reason, and of this generation: never silence. */
async function untilTold({ see }: Scene, name: string, what: string): Promise<string> {
  let told = '';
  await until(
    `${name} tells how it went with ${what}`,
    async () => {
      const { metadata, status } = await see.deployment(name);
      const of = (type: string) => status?.conditions?.find((condition) => condition.type === type);
      const [ready, stalled] = [of('Ready'), of('Stalled')];
      told = stalled?.status === 'True' ? stalled.reason : 'Ready';
      return (
        status?.observedGeneration === metadata.generation &&
        (ready?.status === 'True' || (stalled?.status === 'True' && stalled.reason !== ''))
      );
    },
    END_WITHIN,
  ).catch(async () => {
    told = `SILENT ${JSON.stringify((await see.deployment(name)).status?.conditions?.map(({ type, status, reason, message }) => [type, status, reason, message]))}`;
  });
  return told;
}

/** What serves a deployment, with the name of its present revision taken out. */
async function childrenOf({ world, see }: Scene, name: string): Promise<World> {
  const { namespace, objects } = await world();
  const active = (await see.deployment(name)).status?.activeRevision ?? '';
  const isPart = ({ kind, metadata }: KubeObject): boolean =>
    metadata.labels?.[DEPLOYMENT] === name && kind !== 'Revision' && [undefined, active].includes(metadata.labels[REVISION]);
  const text = JSON.stringify(objects.filter(isPart)).replaceAll(active, '<active>');
  return { namespace, objects: JSON.parse(text) as KubeObject[], journal: [] };
}

/** One deployment goes through a share of the steps, and back. */
async function walk(given: Scene, name: string, steps: Variant[][]): Promise<{ ends: string[]; left: string[] }> {
  const { spec } = base(given.namespace, name);
  const before = await childrenOf(given, name);
  const ends: string[] = [];
  for (const step of steps) {
    const merged = step.reduce<Record<string, unknown>>((whole, { value }) => mergedWith(whole, value, spec), {
      ...spec,
    });
    const what = step.map(({ path }) => path).join(', ');
    try {
      await put(given, name, merged);
    } catch (error) {
      if (!(error instanceof KubeRefused)) throw error;
      ends.push('refused together');
      continue;
    }
    const told = await untilTold(given, name, what);
    if (told.startsWith('SILENT')) process.stdout.write(`${name} ${what}: ${told}\n`);
    ends.push(`${told}: ${what}`);
  }
  await put(given, name, spec);
  await until(`${name} is as before`, async () => differences(await childrenOf(given, name), before).length === 0, END_WITHIN).catch(
    () => undefined,
  );
  return { ends, left: differences(await childrenOf(given, name), before).map((difference) => `${name}: ${difference}`) };
}

/** What a variant changed against the base, put on top of the others' changes. */
function mergedWith(whole: unknown, value: unknown, from: unknown): Record<string, unknown> {
  const record = (thing: unknown): Record<string, unknown> =>
    typeof thing === 'object' && thing !== null ? (thing as Record<string, unknown>) : {};
  const [a, b, c] = [record(whole), record(value), record(from)];
  const names = [...new Set([...Object.keys(a), ...Object.keys(b)])];
  const entries = names.flatMap((name) => {
    if (JSON.stringify(b[name]) === JSON.stringify(c[name])) return name in a ? [[name, a[name]] as const] : [];
    const isRecord = [a[name], b[name]].every((thing) => typeof thing === 'object' && thing !== null && !Array.isArray(thing));
    if (isRecord) return [[name, mergedWith(a[name], b[name], c[name])] as const];
    return name in b ? [[name, b[name]] as const] : [];
  });
  return Object.fromEntries(entries);
}

const NAMES = Array.from({ length: LANES }, (_, index) => `lane-${index}`);

test('every property of a deployment, at every value: refused, Ready or Stalled with a reason, and the way back leads home', async () => {
  const given = await scene('properties');
  const operator = await given.operator();
  await inLanes(NAMES, (name) => given.kube.create(kinds.deployment, base(given.namespace, name)), LANES);
  for (const name of NAMES) await untilTold(given, name, 'its creation');
  const all = variantsOf(DeploymentSpec, base(given.namespace, 'lane-0').spec);
  const verdicts = await inLanes(all, (variant) => asked(given, 'lane-0', variant), 4);
  const refused = verdicts.flatMap(({ refusal, variant }) => (refusal === undefined ? [] : [{ variant, refusal }]));
  const mute = refused.filter(
    ({ refusal }) => refusal.message.length < 10 || !/spec/.test(refusal.message + JSON.stringify(refusal.causes)),
  );
  const accepted = verdicts.filter(({ refusal }) => refusal === undefined).map(({ variant }) => variant);
  const started = performance.now();
  const steps = chunks(spread(accepted), AT_A_TIME);
  const walks = await inLanes(
    NAMES,
    (name) =>
      walk(
        given,
        name,
        steps.filter((_, index) => NAMES[index % LANES] === name),
      ),
    LANES,
  );
  const ends = walks.flatMap((walked) => walked.ends);
  const counted = Object.groupBy(ends, (end) => end.split(':')[0] ?? '');
  const summary = Object.entries(counted).map(([end, of = []]) => `${end} ${of.length}`);
  process.stdout.write(
    `${all.length} values: ${refused.length} refused, ${accepted.length} accepted; ${ends.length} steps in ${((performance.now() - started) / 1000).toFixed(0)} s: ${summary.join(', ')}\n`,
  );
  expect(mute.map(({ variant, refusal }) => `${variant.path}: ${refusal.message}`)).toEqual([]);
  expect(accepted.length).toBeGreaterThan(100);
  expect(ends.filter((end) => end.startsWith('SILENT'))).toEqual([]);
  expect(walks.flatMap(({ left }) => left)).toEqual([]);
  await operator.stop();
  await given.end();
});

const chunks = <T>(items: T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, index) => items.slice(index * size, (index + 1) * size));

/** Neighbours in the list are values of one property: they must not meet in a step. */
function spread(variants: Variant[]): Variant[] {
  const rows = Math.ceil(variants.length / AT_A_TIME);
  return variants
    .map((_, index) => variants[(index % AT_A_TIME) * rows + Math.floor(index / AT_A_TIME)])
    .filter((variant) => variant !== undefined);
}
