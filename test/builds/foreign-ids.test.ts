import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { call, type Api } from '../../dev/run/control-plane.ts';
import { deployCounting, executions, type CountingAgent } from '../kit/counting-agent.ts';
import { deployFromGit, told, type GitDeployment } from '../kit/git-deployment.ts';
import { kubectlFor } from '../kit/kubectl.ts';
import { eachOf, until } from '../kit/until.ts';

/*
 * Pods under ids that a cluster gives to its namespaces, as OpenShift does: policies write a user and a group into
 * each pod of two deployments, and refuse pods that name others.
 */

const system = inject('system');
const api: Api = { url: system.controlPlane, key: system.key };
const kubectl = kubectlFor(system);
const GROUP = 'admissionregistration.k8s.io/v1';
const [AGENTS, NAME, BUILT] = ['gx-agents', 'foreign', 'foreign-built'];
const ID = 1_000_650_000;
/** Milliseconds for a build and two deployments. */
const LONG = 900_000;

let agent: CountingAgent;
let built: GitDeployment | undefined;

const matchConstraints = {
  resourceRules: [
    { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] },
  ],
};
const own = `has(object.metadata.labels) && "gx.dev/deployment" in object.metadata.labels
  && object.metadata.labels["gx.dev/deployment"] in ["${NAME}", "${BUILT}"]`;
const isUnset = '!has(object.spec.securityContext) || !has(object.spec.securityContext.runAsUser)';
const ids = `runAsUser: ${ID}, fsGroup: ${ID}`;
const isOwn = `object.spec.securityContext.runAsUser == ${ID} && object.spec.securityContext.fsGroup == ${ID}
  && object.spec.containers.all(each, !has(each.securityContext) || !has(each.securityContext.runAsUser))`;

const policy = (kind: string, spec: object): object => ({
  apiVersion: GROUP,
  kind,
  metadata: { name: 'foreign-ids' },
  spec,
});
const matchConditions = [{ name: 'own', expression: own }];
const policies = [
  policy('MutatingAdmissionPolicy', {
    failurePolicy: 'Fail',
    reinvocationPolicy: 'Never',
    matchConstraints,
    matchConditions: [...matchConditions, { name: 'unset', expression: isUnset }],
    mutations: [
      {
        patchType: 'ApplyConfiguration',
        applyConfiguration: {
          expression: `Object{spec: Object.spec{securityContext: Object.spec.securityContext{${ids}}}}`,
        },
      },
    ],
  }),
  policy('MutatingAdmissionPolicyBinding', { policyName: 'foreign-ids' }),
  policy('ValidatingAdmissionPolicy', {
    failurePolicy: 'Fail',
    matchConstraints,
    matchConditions,
    validations: [{ expression: isOwn, message: 'not in the range of the namespace' }],
  }),
  policy('ValidatingAdmissionPolicyBinding', {
    policyName: 'foreign-ids',
    validationActions: ['Deny'],
  }),
];

/** A pod of that deployment, which names a user or leaves it open. */
const probe = (securityContext: object): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'probe', namespace: 'default', labels: { 'gx.dev/deployment': NAME } },
  spec: { securityContext, containers: [{ name: 'probe', image: 'probe' }] },
});

async function setFixedIds(change: string): Promise<void> {
  await kubectl('set', 'env', 'deploy/gx-operator', '-n', 'gx-system', `GX_FIXED_IDS${change}`);
  await kubectl('rollout', 'status', 'deploy/gx-operator', '-n', 'gx-system', '--timeout=180s');
}

beforeAll(async () => {
  await kubectl.apply({ apiVersion: 'v1', kind: 'List', items: policies });
  await until('the policies are obeyed', async () => {
    const isRefused = await kubectl.apply(probe({ runAsUser: 10001 }), '--dry-run=server').then(
      () => false,
      (error: Error) => error.message.includes('not in the range'),
    );
    return isRefused && (await kubectl.apply(probe({}), '--dry-run=server'));
  });
  await setFixedIds('=false');
});
afterAll(() =>
  eachOf([
    () => agent.remove(),
    async () => built && call(api, 'DELETE', `/v2/deployments/${built.id}`),
    () => setFixedIds('-'),
    () =>
      kubectl(
        'delete',
        ...['mutating', 'validating'].flatMap((kind) => [
          `${kind}admissionpolicies/foreign-ids`,
          `${kind}admissionpolicybindings/foreign-ids`,
        ]),
      ),
  ]),
);

type Pods = {
  items: {
    metadata: { name: string };
    spec: { securityContext: object; containers: { name: string }[] };
  }[];
};
const podsOf = async (name: string): Promise<Pods['items']> =>
  (await kubectl.json<Pods>('get', 'pods', '-n', AGENTS, '-l', `gx.dev/deployment=${name}`)).items;

/** Returns the users under which the first containers of a deployment's pods run. */
async function users(name: string): Promise<Set<number>> {
  const pods = await podsOf(name);
  const asked = pods.map(({ metadata, spec }) =>
    kubectl(
      'exec',
      metadata.name,
      '-n',
      AGENTS,
      '-c',
      spec.containers[0]!.name,
      '--',
      'sh',
      '-c',
      'id -u',
    ),
  );
  return new Set((await Promise.all(asked)).map(Number));
}

test(
  'agents, a database and a key-value store run under a user that their images do not know',
  async () => {
    agent = await deployCounting({ ...system, api }, NAME, { resources: { redis_memory_mb: 64 } });
    await agent.client.runs.wait(null, 'counting', { input: { round: 'first', milliseconds: 1 } });
    expect(await executions(agent.client)).toEqual({ first: ['first', 'second'] });
    expect(await users(NAME)).toEqual(new Set([ID]));
  },
  LONG,
);

test('the database comes back with its data when its pod starts again', async () => {
  await kubectl('delete', 'pod', `${NAME}-db-0`, '-n', AGENTS, '--wait');
  await kubectl(
    'wait',
    `pod/${NAME}-db-0`,
    '-n',
    AGENTS,
    '--for=condition=Ready',
    '--timeout=180s',
  );
  expect(await until('it has its data', () => executions(agent.client))).toEqual({
    first: ['first', 'second'],
  });
});

test(
  'an agent is built under it, and serves',
  async () => {
    built = await deployFromGit(system, { name: BUILT });
    await until(
      'it is built',
      async () => {
        const [revision] = await built!.revisions();
        if (revision?.status === 'DEPLOYED') return true;
        throw new Error(JSON.stringify(revision));
      },
      300,
    );
    expect(await told(await built.client())).toBe('first 60000');
    expect(await users(BUILT)).toEqual(new Set([ID]));
  },
  LONG,
);
