import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds } from '../../../../src/kube/kinds.ts';
import type { KubeObject } from '../../../../src/kube/kube.ts';
import { names } from '../../../../src/schema/names.ts';
import { newDeployment, settings } from '../../../kit/objects.ts';
import { setStage, type OperatedStage } from '../../../kit/stage.ts';
import { until } from '../../../kit/until.ts';

/* Where the agents and the database of one deployment stand, beside what the installation says. */
const installed = settings().placement;
let stage: OperatedStage;
beforeAll(async () => {
  const placement = {
    ...installed,
    agents: {
      nodeSelector: { pool: 'agents' },
      tolerations: [{ key: 'agents', operator: 'Exists' }],
    },
    databases: { nodeSelector: { pool: 'storage' } },
  };
  stage = await setStage('placement', { settings: { placement } });
});
afterAll(() => stage.stop());

type PodSpec = {
  nodeSelector?: object;
  tolerations?: { key: string }[];
  priorityClassName?: string;
};
const podOf = ({ spec }: KubeObject): PodSpec =>
  (spec as { template: { spec: PodSpec } }).template.spec;
const set = (name: string): Promise<KubeObject> =>
  stage.kube.get(kinds.statefulSet, { namespace: stage.namespace, name: names.database(name) });
const databasePod = (name: string): Promise<KubeObject> =>
  stage.kube.get(kinds.pod, { namespace: stage.namespace, name: `${names.database(name)}-0` });
const claimClass = async (name: string): Promise<string | undefined> => {
  const all = await stage.kube.listAll(kinds.volumeClaim, { namespace: stage.namespace });
  const claim = all.find(({ metadata }) => metadata.name.endsWith(`${names.database(name)}-0`));
  return (claim?.spec as { storageClassName?: string } | undefined)?.storageClassName;
};
const change = (
  name: string,
  op: 'add' | 'remove' | 'replace',
  path: string,
  value?: unknown,
): Promise<object> =>
  stage.kube.patchJson(kinds.deployment, { namespace: stage.namespace, name }, [
    { op, path, value },
  ]);
const said = async (name: string, condition: string): Promise<string> => {
  const { status } = await stage.see.deployment(name);
  return status?.conditions?.find(({ type }) => type === condition)?.message ?? '';
};
const image = { imageUri: 'agent:1' };
const deploy = (name: string, given: Parameters<typeof newDeployment>[1] = {}): Promise<object> =>
  stage.kube.create(
    kinds.deployment,
    newDeployment(stage.namespace, { ...given, metadata: { name } }),
  );

test('the fields of a deployment replace those of the installation, for its agents and for its database', async () => {
  await deploy('own', {
    template: { sourceRevisionConfig: { ...image, placement: { nodeSelector: { pool: 'gpu' } } } },
    spec: { database: { placement: { nodeSelector: { disk: 'nvme' } }, storageClass: 'nvme' } },
  });
  await deploy('usual');
  await Promise.all(['own', 'usual'].map((name) => stage.see.untilReady(name)));
  for (const part of ['api', 'queue']) {
    const pod = podOf(await stage.see.workload(`own-00001-${part}`));
    expect(pod.nodeSelector).toEqual({ pool: 'gpu' });
    expect(pod.tolerations?.map(({ key }) => key)).toEqual(['agents']);
  }
  expect(podOf(await stage.see.workload('usual-00001-api')).nodeSelector).toEqual({
    pool: 'agents',
  });
  expect(podOf(await set('own')).nodeSelector).toEqual({ disk: 'nvme' });
  expect(podOf(await set('usual')).nodeSelector).toEqual({ pool: 'storage' });
  expect([await claimClass('own'), await claimClass('usual')]).toEqual(['nvme', undefined]);
});

test('another place of the database starts its pod again without a revision, and another place of agents makes one', async () => {
  const before = await databasePod('usual');
  await change('usual', 'add', '/spec/database', {
    placement: { nodeSelector: { disk: 'large' } },
  });
  await until('the database stands elsewhere', async () => {
    const pod = await databasePod('usual').catch(() => undefined);
    return (
      pod !== undefined &&
      pod.metadata.uid !== before.metadata.uid &&
      (pod.spec as PodSpec).nodeSelector !== undefined
    );
  });
  expect((await databasePod('usual')).spec).toMatchObject({ nodeSelector: { disk: 'large' } });
  await stage.see.untilReady('usual');
  expect((await stage.see.deployment('usual')).status?.latestRevision).toBe('usual-00001');
  await change('usual', 'add', '/spec/template/sourceRevisionConfig/placement', {
    tolerations: [],
  });
  await until(
    'another revision serves',
    async () => (await stage.see.deployment('usual')).status?.activeRevision === 'usual-00003',
  );
  expect(podOf(await stage.see.workload('usual-00003-api'))).toMatchObject({
    nodeSelector: { pool: 'agents' },
  });
  expect(podOf(await stage.see.workload('usual-00003-api')).tolerations).toBeUndefined();
});

test('the storage class of a database never changes', async () => {
  const refusal = /database\.storageClass: can't be changed/;
  await expect(change('own', 'replace', '/spec/database/storageClass', 'slow')).rejects.toThrow(
    refusal,
  );
  await expect(change('own', 'remove', '/spec/database/storageClass')).rejects.toThrow(refusal);
  await expect(change('own', 'remove', '/spec/database')).rejects.toThrow(refusal);
  await expect(change('usual', 'add', '/spec/database/storageClass', 'slow')).rejects.toThrow(
    refusal,
  );
});

test('a database outside the platform has no place and no storage class', async () => {
  const external = { secretName: 'elsewhere' };
  await expect(
    deploy('a', { spec: { database: { external, storageClass: 'nvme' } } }),
  ).rejects.toThrow(/database\.storageClass: only for/);
  const placement = { runtimeClassName: 'kata' };
  await expect(deploy('a', { spec: { database: { external, placement } } })).rejects.toThrow(
    /database\.placement: only for/,
  );
});

test('a place that no node has is named in the conditions, and what serves goes on', async () => {
  await change('own', 'replace', '/spec/template/sourceRevisionConfig/placement', {
    nodeSelector: { pool: 'nowhere' },
  });
  await until('it is said', async () => {
    const { message = '' } = (await stage.see.revision('own-00002')).status ?? {};
    return (
      message.includes('No node takes the pod') &&
      message.includes('The placement asks for nodes with pool=nowhere.')
    );
  });
  expect((await stage.see.deployment('own')).status?.activeRevision).toBe('own-00001');
  await deploy('astray', {
    spec: { database: { placement: { nodeSelector: { pool: 'nowhere' } }, storageClass: 'nvme' } },
  });
  await until('it is said of the database', async () => {
    const message = await said('astray', 'DatabaseReady');
    return message.includes('nodes with pool=nowhere') && message.includes('storage class nvme');
  });
  await change('astray', 'remove', '/spec/database/placement');
  await stage.see.untilReady('astray');
});

test('a priority class that does not exist is named', async () => {
  await deploy('ranked', {
    template: { sourceRevisionConfig: { ...image, placement: { priorityClassName: 'absent' } } },
  });
  const message = async (): Promise<string> =>
    (await stage.see.revision('ranked-00001')).status?.message ?? '';
  await expect.poll(message, { timeout: 30_000 }).toContain('no PriorityClass with name absent');
});
