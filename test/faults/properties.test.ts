import { expect, test } from 'vitest';
import { KubeRefused } from '../../src/kube/errors.ts';
import { kinds } from '../../src/kube/kinds.ts';
import type { KubeObject } from '../../src/kube/kube.ts';
import {
  DeploymentSpec,
  type DeploymentResource,
} from '../../src/schema/platform/resources/custom-resources.ts';
import { DEPLOYMENT, REVISION } from '../../src/schema/platform/objects/labels.ts';
import { until } from '../kit/until.ts';
import { newDeployment } from '../kit/objects.ts';
import { differences, type World } from './oracle.ts';
import { inLanes, faultStage, type FaultStage } from './fault-stage.ts';
import { variantsOf, type Variant } from './values.ts';

/*
 * Every property of a deployment is set to usual, extreme and impossible values, one after the other, in the way that
 * kubectl does it. Each value is refused with a sentence, or ends as Ready or Stalled with a reason. With the first
 * spec again, the children are the same as at the beginning.
 */
const LANES = 6;
const END_WITHIN = 30;

const base = (namespace: string, name: string): DeploymentResource =>
  newDeployment(namespace, {
    metadata: { name },
    spec: { progressDeadlineSeconds: 10, revisionHistoryLimit: 1 },
  });

const put = (
  { kube, namespace }: FaultStage,
  name: string,
  spec: unknown,
  dryRun = false,
): Promise<DeploymentResource> =>
  kube.patchJson(
    kinds.deployment,
    { namespace, name },
    [{ op: 'replace', path: '/spec', value: spec }],
    { dryRun },
  );

type Verdict = { variant: Variant; refusal?: KubeRefused };

async function asked(given: FaultStage, name: string, variant: Variant): Promise<Verdict> {
  try {
    await put(given, name, variant.value, true);
    return { variant };
  } catch (error) {
    if (!(error instanceof KubeRefused))
      throw new Error(`${variant.path}: not refused, but failed`, { cause: error });
    return { variant, refusal: error };
  }
}

/** Waits until the deployment is Ready, or Stalled with a reason, for this generation. It must never be silent. */
async function untilTold(given: FaultStage, name: string, what: string): Promise<string> {
  const { see } = given;
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
    told = `SILENT ${await allOf(given, name)}`;
  });
  return told;
}

/** Returns the statuses of a deployment and of what belongs to it, to explain a silence. */
async function allOf({ world }: FaultStage, name: string): Promise<string> {
  const { objects } = await world();
  const own = objects.filter(
    ({ metadata }) => metadata.name === name || metadata.labels?.[DEPLOYMENT] === name,
  );
  return JSON.stringify(
    own.map(({ kind, metadata, status }) => [kind, metadata.name, metadata.generation, status]),
  );
}

/**
 * Returns what serves a deployment, without what counts its changes: the name of its present revision, the number of
 * its password (a changed one does not come back), and Kubernetes' own history of the workloads.
 */
async function childrenOf({ world, see }: FaultStage, name: string): Promise<World> {
  const { namespace, objects } = await world();
  const active = (await see.deployment(name)).status?.activeRevision ?? '';
  const isPart = ({ kind, metadata }: KubeObject): boolean =>
    metadata.labels?.[DEPLOYMENT] === name &&
    kind !== 'Revision' &&
    [undefined, active].includes(metadata.labels[REVISION]);
  const isPast = ({ kind, spec }: KubeObject): boolean =>
    kind === 'ReplicaSet' && (spec as { replicas?: number }).replicas === 0;
  const text = JSON.stringify(objects.filter((object) => isPart(object) && !isPast(object)))
    .replaceAll(active, '<active>')
    .replaceAll(/(-db-[0-9a-f]{8})-\d+/g, '$1')
    .replaceAll(
      /"gx\.dev\/password-number":"\d+"(,"gx\.dev\/password-requested-at":"[^"]+")?/g,
      '"gx.dev/password-number":"<count>"',
    )
    .replaceAll(
      /"deployment\.kubernetes\.io\/revision":"\d+"/g,
      '"deployment.kubernetes.io/revision":"<count>"',
    );
  return { namespace, objects: JSON.parse(text) as KubeObject[], journal: [] };
}

/** Takes one deployment through a share of the values, and back. */
async function walk(
  given: FaultStage,
  name: string,
  variants: Variant[],
): Promise<{ ends: string[]; left: string[] }> {
  const { spec } = base(given.namespace, name);
  const before = await childrenOf(given, name);
  const ends: string[] = [];
  for (const { path, value } of variants) {
    await put(given, name, value);
    const told = await untilTold(given, name, path);
    if (told.startsWith('SILENT')) process.stdout.write(`${name} ${path}: ${told}\n`);
    ends.push(`${told}: ${path}`);
  }
  await put(given, name, spec);
  await until(
    `${name} is as before`,
    async () => differences(await childrenOf(given, name), before).length === 0,
    END_WITHIN,
  ).catch(() => undefined);
  return {
    ends,
    left: differences(await childrenOf(given, name), before).map(
      (difference) => `${name}: ${difference}`,
    ),
  };
}

/** What pods have, and how many there are: the API server may refuse what is made of that. All others take effect. */
const PODS = '.template.resourceSpec.';

const NAMES = Array.from({ length: LANES }, (_, index) => `lane-${index}`);

test('every property of a deployment, at every value: refused, Ready or Stalled with a reason, and the way back leads home', async () => {
  const given = await faultStage('properties');
  const operator = await given.operator();
  await inLanes(
    NAMES,
    (name) => given.kube.create(kinds.deployment, base(given.namespace, name)),
    LANES,
  );
  for (const name of NAMES) await untilTold(given, name, 'its creation');
  const all = variantsOf(DeploymentSpec, base(given.namespace, 'lane-0').spec);
  const verdicts = await inLanes(all, (variant) => asked(given, 'lane-0', variant), 4);
  const refused = verdicts.flatMap(({ refusal, variant }) =>
    refusal === undefined ? [] : [{ variant, refusal }],
  );
  const mute = refused.filter(
    ({ refusal }) =>
      refusal.message.length < 10 || !/spec/.test(refusal.message + JSON.stringify(refusal.causes)),
  );
  const accepted = verdicts
    .filter(({ refusal }) => refusal === undefined)
    .map(({ variant }) => variant);
  const started = performance.now();
  const share = (name: string): Variant[] =>
    accepted.filter((_, index) => NAMES[index % LANES] === name);
  const walks = await inLanes(NAMES, (name) => walk(given, name, share(name)), LANES);
  const ends = walks.flatMap((walked) => walked.ends);
  const counted = Object.groupBy(ends, (end) => end.split(':')[0] ?? '');
  const summary = Object.entries(counted).map(([end, of = []]) => `${end} ${of.length}`);
  process.stdout.write(
    `${all.length} values: ${refused.length} refused, ${accepted.length} accepted; ${ends.length} changes in ${((performance.now() - started) / 1000).toFixed(0)} s: ${summary.join(', ')}\n`,
  );
  expect(mute.map(({ variant, refusal }) => `${variant.path}: ${refusal.message}`)).toEqual([]);
  expect(accepted.length).toBeGreaterThan(100);
  expect(ends.filter((end) => end.startsWith('SILENT'))).toEqual([]);
  expect(walks.flatMap(({ left }) => left)).toEqual([]);
  expect(counted['Refused']?.filter((end) => !end.startsWith(`Refused: ${PODS}`))).toEqual([]);
  expect(counted['Ready']?.length).toBeGreaterThan(accepted.length / 4);
  await operator.stop();
  await given.stop();
});
