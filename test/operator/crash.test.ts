import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds } from '../../src/kube/kinds.ts';
import type { Kube } from '../../src/kube/kube.ts';
import { openStage, type Stage } from '../kit/stage.ts';
import { until } from '../kit/until.ts';
import { dyingDoor, type DyingDoor } from '../kit/dying-door.ts';
import { newDeployment } from '../kit/objects.ts';
import type { RunningOperator } from '../kit/operator.ts';

/* The operator is killed after the k-th write of a creation. Its successor must arrive at the same objects. */
const lease = { duration: 3, renewDeadline: 2.4, retry: 0.2 };
let stage: Stage;
/** What a creation without a crash makes. */
let whole: string[];

beforeAll(async () => {
  stage = await openStage('crash');
  stage.startKubelet();
  const operator = await operate('whole');
  await stage.kube.create(
    kinds.deployment,
    newDeployment(stage.namespace, { metadata: { name: 'whole' } }),
  );
  await stage.see.untilReady('whole');
  await operator.stop();
  whole = await made('whole');
});
afterAll(() => stage.stop());

/** Returns kind and name of everything made for a deployment, without the deployment's own name and uid. */
async function made(name: string): Promise<string[]> {
  const all = [
    kinds.revision,
    kinds.workload,
    kinds.statefulSet,
    kinds.service,
    kinds.networkPolicy,
    kinds.disruptionBudget,
    kinds.secret,
    kinds.volumeClaim,
  ];
  const lists = await Promise.all(
    all.map((kind) => stage.kube.listAll(kind as typeof kinds.pod, { namespace: stage.namespace })),
  );
  return lists
    .flat()
    .map(({ kind, metadata }) => `${kind} ${metadata.name}`)
    .filter((line) => line.includes(`${name}-`))
    .map((line) => line.replace(name, 'x').replaceAll(/-[0-9a-f]{8}(?=-|$)/g, '-hash'))
    .toSorted((a, b) => (a < b ? -1 : 1));
}

const operate = (name: string, through?: (kube: Kube) => Kube): Promise<RunningOperator> =>
  stage.startOperator({
    identity: `${name}-${through ? 'first' : 'second'}`,
    times: { lease },
    ...(through && { through }),
  });

test.each([1, 2, 3, 5, 7, 8, 10, 13, 16, 18])('killed after write %i', async (writes) => {
  const { see } = stage;
  let door: DyingDoor | undefined;
  const name = `k${writes}`;
  const first = await operate(name, (kube) => (door = dyingDoor(kube, writes)).kube);
  await stage.kube.create(kinds.deployment, newDeployment(stage.namespace, { metadata: { name } }));
  await until('the first operator is dead', () => door?.isDead() === true);
  await first.stop();
  const second = await operate(name);
  await see.untilReady(name);
  await second.stop();
  expect(await made(name)).toEqual(whole);
});
