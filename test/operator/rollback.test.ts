import { afterAll, beforeAll, expect, test } from 'vitest';
import { ensureTools } from '../../dev/cluster/parts.ts';
import { kinds } from '../../src/kube/kinds.ts';
import type { KubeObject } from '../../src/kube/kube.ts';
import type { DeploymentSpec } from '../../src/schema/platform/resources/custom-resources.ts';
import { startPlane, type Plane } from '../control-plane/kit/api-server-plane.ts';
import { until } from '../kit/until.ts';
import { digestFor } from '../kit/fake-kubelet.ts';
import { kubectlFor, type Kubectl } from '../kit/kubectl.ts';
import { newDeployment } from '../kit/objects.ts';
import { look } from '../kit/operator.ts';

let plane: Plane;
let kubectl: Kubectl;
let see: ReturnType<typeof look>;

beforeAll(async () => {
  plane = await startPlane('rollback');
  await plane.startOperator();
  plane.startKubelet();
  see = plane.see;
  const { kubectl: path } = await ensureTools(['kubectl']);
  kubectl = kubectlFor({ kubectl: path, kubeconfig: plane.kubeconfig });
  // REST takes no other account than one that its owner meant for agents, in a redeploy either.
  await kubectl('create', 'serviceaccount', 'first', '--namespace', plane.namespace);
  await kubectl(
    'label',
    'serviceaccount',
    'first',
    'gx.dev/for-agents=true',
    '--namespace',
    plane.namespace,
  );
});
afterAll(() => plane.stop());

type Template = DeploymentSpec['template'];

const image = (number: number): string => `registry.example/agent:${number}`;
/** Three revisions that differ in everything a template may say. */
const templates: Template[] = [1, 2, 3].map((number) => ({
  sourceRevisionConfig: { imageUri: image(number) },
  secretName: 'mine',
  resourceSpec: {
    minScale: number,
    cpu: number,
    memoryMb: 256 * number,
    labels: { generation: `g${number}` },
    annotations: { note: `${number}` },
    ...(number === 1 && {
      queueMinScale: 2,
      serviceAccountName: 'first',
      volumes: [{ name: 'cache', emptyDir: {} }],
    }),
    ...(number === 2 && {
      sidecars: [{ name: 'proxy', image: 'proxy:2', env: [{ name: 'A', value: 'b' }] }],
    }),
  },
}));
const secret = (value: number): KubeObject & { stringData: Record<string, string> } => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'mine', namespace: plane.namespace },
  stringData: { TOKEN: `token-${value}` },
});

/** Returns the same image by the digest that it had. No new push under its tag changes that. */
const pinned = (number: number): string => `registry.example/agent@${digestFor(image(number))}`;

/**
 * Returns what pods of a revision are made of, without names that the revision itself has. A digest takes the place of
 * the tag that was deployed.
 */
async function pods(revision: string): Promise<unknown[]> {
  const env = (await see.revision(revision)).status?.secretName ?? '';
  const { data } = await see.secret(env);
  const pair = await Promise.all(
    ['api', 'queue'].map((part) => see.workload(`${revision}-${part}`)),
  );
  const text = JSON.stringify(pair.map(({ spec }) => (spec as { template: object }).template));
  const tagged = [1, 2, 3].reduce(
    (said, number) => said.replaceAll(pinned(number), image(number)),
    text,
  );
  return [data, JSON.parse(tagged.replaceAll(env, 'ENV').replaceAll(revision, 'REVISION'))];
}
const newest = async (name: string): Promise<string> =>
  (await see.deployment(name)).status?.latestRevision ?? '';

/** Brings up the three in turn, with another value of the user's Secret each time. */
async function history(name: string): Promise<void> {
  for (const [index, template] of templates.entries()) {
    await plane.kube.apply(kinds.secret, secret(index + 1));
    if (index === 0)
      await plane.kube.create(
        kinds.deployment,
        newDeployment(plane.namespace, { metadata: { name }, template }),
      );
    else
      await plane.kube.patchJson(kinds.deployment, { namespace: plane.namespace, name }, [
        { op: 'replace', path: '/spec/template', value: template },
      ]);
    await see.untilReady(name);
  }
}

const byRest = async (name: string, to: string): Promise<void> => {
  const ids = [await see.deployment(name), await see.revision(to)].map(
    ({ metadata }) => metadata.uid,
  );
  const { status } = await plane.call(
    'POST',
    `/v2/deployments/${ids[0]}/revisions/${ids[1]}/redeploy`,
  );
  expect(status).toBe(200);
};
const byKubectl = async (name: string, to: string): Promise<void> => {
  const inNamespace = ['--namespace', plane.namespace];
  const template = await kubectl(
    'get',
    'gxr',
    to,
    ...inNamespace,
    '-o',
    'jsonpath={.spec.template}',
  );
  const patch = `[{"op":"add","path":"/spec/template","value":${template}},{"op":"add","path":"/spec/rollbackOf","value":"${to}"},
    {"op":"add","path":"/spec/requestedAt","value":"${new Date().toISOString()}"}]`;
  await kubectl('patch', 'gxd', name, ...inNamespace, '--type', 'json', '-p', patch);
};

test.each([
  ['REST', 'by-rest', byRest],
  ['kubectl', 'by-kubectl', byKubectl],
] as const)(
  'by %s every revision of the history comes back: image, sizes, containers, volumes, labels, and its secrets',
  async (_, name, roll) => {
    await history(name);
    const wanted = await Promise.all([1, 2].map((number) => pods(`${name}-0000${number}`)));
    for (const [index, pair] of wanted.entries()) {
      const before = await newest(name);
      await roll(name, `${name}-0000${index + 1}`);
      await until('it has a revision of its own', async () => (await newest(name)) !== before);
      await see.untilReady(name);
      const now = await newest(name);
      expect((await see.revision(now)).spec).toMatchObject({
        rollbackOf: `${name}-0000${index + 1}`,
        template: templates[index],
      });
      expect(await pods(now)).toEqual(pair);
      expect((await see.revision(now)).status?.image).toBe(pinned(index + 1));
      expect((await see.deployment(name)).status).toMatchObject({
        activeRevision: now,
        phase: 'READY',
      });
    }
  },
);

test('secrets of a revision stay when the one it repeats is collected', async () => {
  await history('kept');
  await byRest('kept', 'kept-00001');
  await until('it has a revision of its own', async () => (await newest('kept')) === 'kept-00004');
  await see.untilReady('kept');
  await plane.kube.delete(kinds.revision, { namespace: plane.namespace, name: 'kept-00001' });
  await until('it is gone, with its Secret', async () =>
    (await plane.kube.listAll(kinds.secret, { namespace: plane.namespace })).every(
      ({ metadata }) => metadata.name !== 'kept-00001-env',
    ),
  );
  const { data } = await see.secret((await see.revision('kept-00004')).status?.secretName ?? '');
  expect(data).toEqual({ TOKEN: Buffer.from('token-1').toString('base64') });
});
