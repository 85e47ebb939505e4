import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DATA_WORD } from '../../src/config/platform/uninstall.ts';
import { connect } from '../../src/kube/client.ts';
import { kinds } from '../../src/kube/kinds.ts';
import type { Kind, KubeObject } from '../../src/kube/kube.ts';
import { operatorAccess } from '../../src/operator/access.ts';
import { runUninstall } from '../../src/operator/uninstall/run.ts';
import { access, uninstallAccess } from '../../dev/generate/access.ts';
import { accountWith, grant } from '../kit/account.ts';
import { fakeKubelet } from '../kit/fake-kubelet.ts';
import { silentLog } from '../kit/log.ts';
import { newDeployment } from '../kit/objects.ts';
import { look } from '../kit/operator.ts';
import { openStage, type Stage } from '../kit/stage.ts';
import { until } from '../kit/until.ts';

/* The command works in one namespace here, under an account with its own permissions. */

let stage: Stage;
let kubeconfig: string;
beforeEach(async () => {
  stage = await openStage('uninstall');
  stage.startKubelet();
  const { kube, namespace } = stage;
  await grant(kube, { namespace: 'default', rules: operatorAccess.apiServer, to: namespace });
  kubeconfig = await accountWith(kube, {
    namespace,
    kubeconfig: stage.kubeconfig,
    rules: uninstallAccess,
  });
});
afterEach(() => stage.stop());

async function deployed(...names: string[]): Promise<void> {
  for (const name of names) {
    await stage.kube.create(
      kinds.deployment,
      newDeployment(stage.namespace, { metadata: { name } }),
    );
    await stage.see.untilReady(name);
  }
}

/** Runs the command and returns its lines. */
async function uninstalled(given: { data?: boolean; agents?: string } = {}): Promise<string[]> {
  const { namespace } = stage;
  const lines: string[] = [];
  const kube = await connect({
    fieldManager: 'gx-operator',
    userAgent: `gx-uninstall/${namespace}`,
    kubeconfig,
  });
  const config = { namespace, logLevel: 'silent', deletesData: given.data === true, seconds: 60 };
  const { signal } = new AbortController();
  const env = { GX_WATCH_NAMESPACES: given.agents ?? namespace };
  try {
    await runUninstall({
      kube,
      config,
      env,
      log: silentLog(),
      out: (line) => lines.push(line),
      signal,
    });
  } finally {
    await kube.close();
  }
  return lines;
}

const left = async (...of: Kind[]): Promise<string[]> => {
  const lists = await Promise.all(
    of.map((kind) => stage.kube.listAll<KubeObject>(kind, { namespace: stage.namespace })),
  );
  return lists.flat().map(({ kind, metadata }) => `${kind}/${metadata.name}`);
};
const MADE = [
  kinds.deployment,
  kinds.revision,
  kinds.workload,
  kinds.statefulSet,
  kinds.service,
  kinds.networkPolicy,
];
const credentials = async (): Promise<string[]> =>
  (await left(kinds.secret)).filter((name) => !name.includes('limited'));

test('every deployment goes, and its data stays', async () => {
  await stage.startOperator();
  await deployed('chat', 'other');
  const lines = await uninstalled();
  expect(lines[0]).toBe('2 deployments are to be removed; all data stays.');
  const told = lines.find((line) => line.startsWith('The data stays in these volume claims'));
  expect(told?.match(/-(chat|other)-db-0/g)?.toSorted()).toEqual(['-chat-db-0', '-other-db-0']);
  expect(await left(...MADE)).toEqual([]);
  expect(await left(kinds.volumeClaim)).toHaveLength(2);
  expect((await credentials()).length).toBeGreaterThan(0);
});

test('without an operator, the command does its work', async () => {
  const operator = await stage.startOperator();
  await deployed('chat');
  await operator.stop();
  await uninstalled();
  expect(await left(...MADE)).toEqual([]);
  expect(await left(kinds.volumeClaim)).toHaveLength(1);
});

test('a deployment that was deleted after its operator, and hangs, goes as well', async () => {
  const operator = await stage.startOperator();
  await deployed('chat');
  await operator.stop();
  await stage.kube.delete(kinds.deployment, { namespace: stage.namespace, name: 'chat' });
  expect((await stage.see.deployment('chat')).metadata.deletionTimestamp).toBeDefined();
  await uninstalled();
  expect(await left(...MADE)).toEqual([]);
});

describe('data', () => {
  test('that a deployment would delete stops the command before it has changed anything', async () => {
    await stage.startOperator();
    await stage.kube.create(
      kinds.deployment,
      newDeployment(stage.namespace, { spec: { deletionPolicy: 'Delete' } }),
    );
    await stage.see.untilReady('chat');
    await expect(uninstalled()).rejects.toThrow(`or run uninstall with --data ${DATA_WORD}`);
    expect((await stage.see.deployment('chat')).metadata.deletionTimestamp).toBeUndefined();
  });

  test('goes if its word is given, that of earlier deployments too', async () => {
    await stage.startOperator();
    await deployed('earlier', 'chat');
    await stage.kube.delete(kinds.deployment, { namespace: stage.namespace, name: 'earlier' });
    await until(
      'the earlier one is gone',
      async () => !(await left(kinds.deployment)).includes('Deployment/earlier'),
    );
    expect(await left(kinds.volumeClaim)).toHaveLength(2);
    expect((await uninstalled({ data: true })).at(-2)).toBe('All data is deleted.');
    await until('the claims are gone', async () => (await left(kinds.volumeClaim)).length === 0);
    expect(await credentials()).toEqual([]);
  });
});

test('a namespace that is being deleted, and has taken the rights of its operator along, goes', async () => {
  const { kube, namespace } = stage;
  const agents = `${namespace}-agents`;
  await kube.create(kinds.namespace, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: agents },
  });
  stage.endWith(fakeKubelet(kube, agents));
  await grant(kube, { namespace: agents, rules: access.operator.both, to: namespace });
  await stage.startOperator({ kubeconfig, config: { namespaces: [agents] } });
  await kube.create(kinds.deployment, newDeployment(agents));
  await look(kube, agents).untilReady('chat');
  await kube.delete(kinds.namespace, { name: agents });
  kubeconfig = stage.kubeconfig;
  expect((await uninstalled({ agents })).at(-1)).toContain('No deployment is left.');
  await until(
    'the namespace is gone',
    async () => (await kube.find(kinds.namespace, { name: agents })) === undefined,
    60,
  );
});
