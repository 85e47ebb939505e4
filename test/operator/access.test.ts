import { readFileSync } from 'node:fs';
import { expect, inject, test } from 'vitest';
import { ensureTools } from '../../dev/cluster/parts.ts';
import { NotFound } from '../../src/errors.ts';
import { kinds } from '../../src/kube/kinds.ts';
import type { KubeObject } from '../../src/kube/kube.ts';
import { mergeRules, operatorAccess } from '../../src/operator/access.ts';
import { API_VERSION } from '../../src/schema/platform/objects/api-group.ts';
import { accountWith, grant, rightsIn } from '../kit/account.ts';
import { conditionOf } from '../kit/api-server.ts';
import { openStage, type Stage } from '../kit/stage.ts';
import { auditEvents, rightsUsed } from '../kit/audit-log.ts';
import { until } from '../kit/until.ts';
import { kubectlFor } from '../kit/kubectl.ts';
import { newDeployment } from '../kit/objects.ts';

test('rules of one resource are merged, and sorted', () => {
  const rule = (resources: string[], verbs: string[]) => ({ apiGroups: [''], resources, verbs });
  expect(mergeRules([rule(['b', 'a'], ['get']), rule(['a'], ['delete', 'get'])])).toEqual([
    rule(['a'], ['delete', 'get']),
    rule(['b'], ['get']),
  ]);
});

test('no rule has a wildcard, and Secrets are not watched', () => {
  const rules = [...operatorAccess.worked, ...operatorAccess.secrets, ...operatorAccess.own];
  expect(JSON.stringify(rules)).not.toContain('*');
  const secrets = rules
    .filter(({ resources }) => resources.includes('secrets'))
    .flatMap(({ verbs }) => verbs);
  expect(secrets).toEqual(['create', 'delete', 'get', 'list', 'patch']);
});

/** Returns the slice of a gateway that answers nothing. */
const gatewaySlice = (namespace: string): KubeObject => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { name: 'gateway-1', namespace, labels: { 'kubernetes.io/service-name': 'gateway' } },
  addressType: 'IPv4',
  endpoints: [{ addresses: ['10.9.0.1'], conditions: { ready: true } }],
  ports: [{ name: 'reports', port: 8082, protocol: 'TCP' }],
});

/** Has a deployment sleep, and wake again, as the gateway asks for it. */
async function sleepAndWake({ kube, namespace, see }: Stage): Promise<void> {
  const template = { sourceRevisionConfig: { imageUri: 'agent:1' }, resourceSpec: { minScale: 0 } };
  await kube.create(
    kinds.deployment,
    newDeployment(namespace, {
      metadata: { name: 'sleeper' },
      template,
      spec: { deletionPolicy: 'Delete' },
    }),
  );
  await see.untilReady('sleeper');
  const asleepSince = '2026-01-05T00:00:00Z';
  // A reconcile that had read the status before writes it without this field.
  const fallAsleep = async (): Promise<void> => {
    if ((await see.deployment('sleeper')).status?.asleepSince !== undefined) return;
    await kube.patchStatus(kinds.deployment, { namespace, name: 'sleeper' }, { asleepSince });
  };
  const isLed = async (): Promise<boolean> =>
    (await kube.find(kinds.endpointSlice, { namespace, name: 'sleeper-gateway-ipv4' })) !==
    undefined;
  await until('it is led to the gateway', () => fallAsleep().then(isLed));
  const annotations = { 'gx.dev/wake': asleepSince };
  await kube.patchJson(kinds.deployment, { namespace, name: 'sleeper' }, [
    { op: 'add', path: '/metadata/annotations', value: annotations },
  ]);
  await until('it is awake', async () => !(await isLed()));
  await kube.delete(kinds.deployment, { namespace, name: 'sleeper' });
}

test('with these rights alone the operator deploys, redeploys, and deletes without one refusal, and it needs each of them', async () => {
  const stage = await openStage('rights');
  const { kube, namespace, kubeconfig, see } = stage;
  const rules = [
    ...operatorAccess.worked,
    ...operatorAccess.secrets,
    ...operatorAccess.own,
    ...operatorAccess.ports,
  ];
  await grant(kube, { namespace: 'default', rules: operatorAccess.apiServer, to: namespace });
  const limited = await accountWith(kube, { namespace, kubeconfig, rules });
  const target = {
    endpoint: 'https://s3.example.com',
    bucket: 'our-backups',
    region: 'eu-1',
    prefix: '',
    pathStyle: false,
    secretName: 'store',
  };
  const backups = {
    targets: { main: target },
    atOnce: 2,
    deadlineMinutes: 60,
    verifyDays: 0,
    image: 'platform:1',
  };
  stage.startKubelet();
  await kube.create(kinds.endpointSlice, gatewaySlice(namespace));
  const operator = await stage.startOperator({
    kubeconfig: limited,
    settings: {
      gateway: { service: 'gateway', namespace },
      backups,
      imagePullSecrets: ['mirror'],
    },
  });
  await kube.create(kinds.secret, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'mine', namespace },
    stringData: { A: 'b' },
  });
  await kube.create(
    kinds.deployment,
    newDeployment(namespace, {
      template: {
        secretName: 'mine',
        resourceSpec: { minScale: 1, maxScale: 2, queueMaxScale: 1 },
      },
      spec: {
        database: { podDisruptionBudget: true },
        deletionPolicy: 'Delete',
        deleteTracingProject: true,
      },
    }),
  );
  const listener = (name: string) => ({
    apiVersion: API_VERSION,
    kind: 'Listener',
    metadata: { name, namespace },
    spec: { computeId: 'c', namespaces: [namespace] },
  });
  for (const name of ['first', 'second']) await kube.create(kinds.listener, listener(name));
  const reasons = async (): Promise<string> => {
    const all = await kube.listAll(kinds.listener, { namespace });
    return all
      .map(({ status }) => status?.conditions?.find(({ type }) => type === 'Ready')?.reason ?? '')
      .toSorted()
      .join();
  };
  await until(
    'one of two Listeners is told that the other has its namespace',
    async () => (await reasons()) === 'NamespaceTaken,Settled',
  );
  await see.untilReady('chat');
  const passwordRequestedAt = '2026-01-05T00:00:00Z';
  await kube.patchJson(kinds.deployment, { namespace, name: 'chat' }, [
    { op: 'add', path: '/spec/database', value: { passwordRequestedAt } },
  ]);
  await until(
    'the password is changed',
    async () => (await see.deployment('chat')).status?.passwordRequestedAt === passwordRequestedAt,
  );
  await kube.patchJson(kinds.deployment, { namespace, name: 'chat' }, [
    {
      op: 'add',
      path: '/spec/database/backup',
      value: { target: 'main', requestedAt: passwordRequestedAt },
    },
  ]);
  // The double of the kubelet ends its pod without a word.
  await until(
    'the backup has ended',
    async () => (await kube.listAll(kinds.backup, { namespace }))[0]?.status?.phase === 'Failed',
  );
  const certificate = async (): Promise<string> =>
    (await see.secret('chat-db-tls')).data?.['tls.crt'] ?? '';
  await kube.patchJson(kinds.secret, { namespace, name: 'chat-db-tls' }, [
    { op: 'replace', path: '/data/tls.crt', value: '' },
  ]);
  await kube.patchJson(kinds.deployment, { namespace, name: 'chat' }, [
    { op: 'add', path: '/metadata/annotations', value: { 'gx.dev/reconcile-requested-at': 'now' } },
  ]);
  await until('the spoilt certificate is renewed', async () => (await certificate()) !== '');
  await kube.patchJson(kinds.deployment, { namespace, name: 'chat' }, [
    { op: 'replace', path: '/spec/template/sourceRevisionConfig/imageUri', value: 'crash:2' },
  ]);
  await see.untilPhase('chat-00004', 'DEPLOY_FAILED');
  await kube.patchJson(kinds.deployment, { namespace, name: 'chat' }, [
    { op: 'add', path: '/spec/template/resourceSpec', value: { dbStorageGi: 500 } },
  ]);
  await until(
    'the volume was asked to grow',
    async () => conditionOf(await see.deployment('chat'), 'VolumeGrown') === 'False',
  );
  await sleepAndWake(stage);
  await kube.delete(kinds.deployment, { namespace, name: 'chat' });
  await until('it is gone', () =>
    see.deployment('chat').then(
      () => false,
      (error: unknown) => error instanceof NotFound,
    ),
  );
  await stage.stop();
  // The API server records a watch when it has ended, and notices the end in its own time.
  const written = () => auditEvents(inject('auditLog'), operator.userAgent);
  const watches = rightsIn([...rules, ...operatorAccess.apiServer]).filter((right) =>
    right.startsWith('watch '),
  );
  await until(`each of these has ended: ${watches.join(', ')}`, () => {
    const ended = rightsUsed(written());
    return watches.every((right) => ended.has(right));
  });
  const requests = written();
  const refused = requests.filter(({ responseStatus }) => responseStatus?.code === 403);
  expect(refused.map(({ verb, requestURI }) => `${verb} ${requestURI}`)).toEqual([]);
  const used = rightsUsed(requests);
  // Builds in stages have a test of their own (staged-builds.test.ts).
  const ofBuilds = rightsIn(operatorAccess.staged);
  const granted = rightsIn([...rules, ...operatorAccess.apiServer]).filter(
    (right) => !ofBuilds.includes(right),
  );
  // An apply that creates an object needs both permissions. Updating finalizers is needed where an admission plugin is
  // on.
  // Events are read of a Job that has had no pod for half a minute (test/company/jobs.test.ts).
  const isImplied = (right: string): boolean =>
    right.endsWith('/finalizers') ||
    right === 'list events' ||
    used.has(right.replace(/^create /, 'patch '));
  const unused = granted.filter((right) => !used.has(right) && !isImplied(right));
  expect(unused).toEqual([]);
});

test('a namespace deleted as a whole takes the rights with it: the documented command lets go of what is left', async () => {
  const [system, agents] = [await openStage('system'), await openStage('doomed')];
  const { kube, namespace } = agents;
  const { worked, secrets, own, apiServer } = operatorAccess;
  await grant(kube, { namespace: 'default', rules: apiServer, to: system.namespace });
  const limited = await accountWith(kube, { ...system, rules: [...own, ...operatorAccess.ports] });
  await grant(kube, { namespace, rules: [...worked, ...secrets], to: system.namespace });
  agents.startKubelet();
  await agents.startOperator({ kubeconfig: limited, config: { namespace: system.namespace } });
  await kube.create(kinds.deployment, newDeployment(namespace));
  await agents.see.untilReady('chat');
  await kube.delete(kinds.namespace, { name: namespace });
  const phase = async (): Promise<string | undefined> =>
    ((await kube.get(kinds.namespace, { name: namespace })) as { status?: { phase?: string } })
      .status?.phase;
  // Chance decides whether the operator is quicker than the deletion of its Role. Most often it is not.
  await until('it hangs, or is gone', async () => {
    const live = await kube.get(kinds.namespace, { name: namespace }).catch(() => undefined);
    return live === undefined || conditionOf(live, 'NamespaceFinalizersRemaining') === 'True';
  });
  const documented =
    /kubectl (-n NAMESPACE patch gxd NAME [^`]*)`/.exec(
      readFileSync('docs/how-to/install.md', 'utf8'),
    )?.[1] ?? '';
  const words = documented
    .replace('NAMESPACE', namespace)
    .replace('NAME', 'chat')
    .replaceAll("'", '')
    .split(' ');
  const { kubectl } = await ensureTools(['kubectl']);
  // The operator may still let go of it before the command does.
  const letGo = (): Promise<unknown> =>
    kubectlFor({ kubectl, kubeconfig: agents.kubeconfig })(...words).catch((error: unknown) => {
      if (!String(error).includes('deployments.gx.dev "chat" not found')) throw error;
    });
  if ((await phase().catch(() => undefined)) === 'Terminating') await letGo();
  await until('it is gone', () =>
    phase().then(
      () => false,
      (error: unknown) => error instanceof NotFound,
    ),
  );
  await expect(phase()).rejects.toBeInstanceOf(NotFound);
  for (const one of [agents, system]) await one.stop();
});
