import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds, type Kube } from '../../src/kube/kube.ts';
import { testNamespace } from '../kit/api-server.ts';
import { until } from '../kit/until.ts';
import { dyingDoor, type DyingDoor } from '../kit/dying-door.ts';
import { fakeKubelet, type FakeKubelet } from '../kit/fake-kubelet.ts';
import { newDeployment } from '../kit/objects.ts';
import { look, operatorFor } from '../kit/operator.ts';

/* Killed after the k-th write of a creation, the operator that comes after must arrive at the same objects. */
const lease = { duration: 3, renewDeadline: 2.4, retry: 0.2 };
let own: Awaited<ReturnType<typeof testNamespace>>;
let kubelet: FakeKubelet;
/** What a creation without a crash makes. */
let whole: string[];

beforeAll(async () => {
  own = await testNamespace('crash');
  kubelet = fakeKubelet(own.kube, own.namespace);
  const operator = await create('whole');
  await own.kube.create(kinds.deployment, newDeployment(own.namespace, { metadata: { name: 'whole' } }));
  await look(own.kube, own.namespace).untilReady('whole');
  await operator.stop();
  whole = await made('whole');
});
afterAll(async () => {
  await kubelet.stop();
  await own.kube.close();
});

/** Kind and name of everything made for a deployment, with the deployment's own name and uid taken out. */
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
  const lists = await Promise.all(all.map((kind) => own.kube.all(kind as typeof kinds.pod, { namespace: own.namespace })));
  return lists
    .flat()
    .map(({ kind, metadata }) => `${kind} ${metadata.name}`)
    .filter((line) => line.includes(`${name}-`))
    .map((line) => line.replace(name, 'x').replaceAll(/-[0-9a-f]{8}(?=-|$)/g, '-hash'))
    .toSorted((a, b) => (a < b ? -1 : 1));
}

async function create(name: string, through?: (kube: Kube) => Kube): Promise<Awaited<ReturnType<typeof operatorFor>>> {
  const operator = await operatorFor(own, {
    identity: `${name}-${through ? 'first' : 'second'}`,
    times: { lease },
    ...(through && { through }),
  });
  await operator.leading;
  return operator;
}

test.each([1, 2, 3, 5, 7, 8, 10, 13, 16, 18])('killed after write %i', async (writes) => {
  const see = look(own.kube, own.namespace);
  let door: DyingDoor | undefined;
  const name = `k${writes}`;
  const first = await create(name, (kube) => (door = dyingDoor(kube, writes)).kube);
  await own.kube.create(kinds.deployment, newDeployment(own.namespace, { metadata: { name } }));
  await until('the first operator is dead', () => door?.isDead() === true);
  await first.stop();
  const second = await create(name);
  await see.untilReady(name);
  await second.stop();
  expect(await made(name)).toEqual(whole);
});
