import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Conflict, NotFound, Unavailable } from '../../src/errors.ts';
import { connect } from '../../src/kube/client.ts';
import { KubeRefused } from '../../src/kube/errors.ts';
import { kinds } from '../../src/kube/kinds.ts';
import type { Kind, Kube, KubeObject } from '../../src/kube/kube.ts';
import { buildCrd } from '../../src/schema/platform/resources/crd.ts';
import { KINDS } from '../../src/schema/platform/resources/custom-kinds.ts';
import type { DeploymentResource } from '../../src/schema/platform/resources/custom-resources.ts';
import { conditionOf, testNamespace } from '../kit/api-server.ts';
import { newDeployment } from '../kit/objects.ts';
import { tcpProxy } from '../kit/tcp-proxy.ts';

let kube: Kube;
let namespace: string;
let kubeconfig: string;

beforeAll(async () => {
  ({ kube, namespace, kubeconfig } = await testNamespace('client'));
});
afterAll(() => kube.close());

const stored = (name: string): Promise<DeploymentResource> =>
  kube.get(kinds.deployment, { namespace, name });
const named = (name: string, spec: Partial<DeploymentResource['spec']> = {}): DeploymentResource =>
  newDeployment(namespace, { metadata: { name }, spec });

/** Every list of CEL rules in a schema, with its path. */
function rulesOf(schema: unknown, path = ''): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  return Object.entries(schema).flatMap(([name, value]): string[] =>
    name === 'x-kubernetes-validations'
      ? (value as { rule: string }[]).map(({ rule }) => `${path}: ${rule}`)
      : rulesOf(value, `${path}.${name}`),
  );
}

describe('custom resource definitions', () => {
  test.each(KINDS)('$kind is structural, and the API server holds every CEL rule', async (kind) => {
    const definition = buildCrd(kind) as KubeObject;
    const live = await kube.get(kinds.customResourceDefinition, { name: definition.metadata.name });
    expect(conditionOf(live, 'Established')).toBe('True');
    expect(conditionOf(live, 'NonStructuralSchema')).toBeUndefined();
    expect(new Set(rulesOf(live.spec))).toEqual(new Set(rulesOf(definition.spec)));
    expect(JSON.stringify(definition).length).toBeLessThan(200_000);
  });
});

describe('what the API server refuses', () => {
  const git: Partial<DeploymentResource['spec']> = {
    source: 'git',
    sourceConfig: {
      integrationId: '33333333-3333-4333-8333-333333333333',
      repoUrl: 'https://git.example/a',
      deploymentType: 'dev',
    },
    template: { sourceRevisionConfig: { repoRef: 'main', gxConfigPath: 'gx.json' } },
  };

  test('another source', async () => {
    const made = await kube.create(kinds.deployment, named('fixed-source'));
    const changed = kube.replace(kinds.deployment, { ...made, spec: { ...made.spec, ...git } });
    await expect(changed).rejects.toBeInstanceOf(KubeRefused);
  });

  test('an optional immutable field that is removed, to be set again', async () => {
    const made = await kube.create(kinds.deployment, named('fixed-type', git));
    const { deploymentType: _, ...without } = made.spec.sourceConfig ?? {};
    const removed = kube.replace(kinds.deployment, {
      ...made,
      spec: { ...made.spec, sourceConfig: without },
    });
    await expect(removed).rejects.toMatchObject({
      causes: [{ field: 'spec' }],
      message: expect.stringContaining('deploymentType'),
    });
    expect((await stored('fixed-type')).spec.sourceConfig?.deploymentType).toBe('dev');
  });

  test('building on push from a tag', async () => {
    const tag = {
      ...git,
      template: { sourceRevisionConfig: { repoRef: 'refs/tags/v1', gxConfigPath: 'gx.json' } },
    };
    const refused = kube.create(
      kinds.deployment,
      named('tag', { ...tag, sourceConfig: { ...git.sourceConfig, buildOnPush: true } }),
    );
    await expect(refused).rejects.toBeInstanceOf(KubeRefused);
  });

  test('a revision whose spec is changed', async () => {
    const spec = {
      deployment: 'chat',
      deploymentUid: '11111111-1111-4111-8111-111111111111',
      number: 1,
      hash: 'h',
      source: 'external_container' as const,
    };
    const template = { sourceRevisionConfig: { imageUri: 'a:1' } };
    const head = {
      apiVersion: 'gx.dev/v1alpha1',
      kind: 'Revision',
      metadata: { name: 'fixed', namespace },
    };
    const made = await kube.create(kinds.revision, { ...head, spec: { ...spec, template } });
    const patch = kube.patchJson(kinds.revision, { namespace, name: 'fixed' }, [
      { op: 'replace', path: '/spec/template/sourceRevisionConfig/imageUri', value: 'a:2' },
    ]);
    await expect(patch).rejects.toBeInstanceOf(KubeRefused);
    expect(made.spec.number).toBe(1);
  });
});

describe('failures say what can be done', () => {
  test('an object that is not there', async () => {
    await expect(stored('nobody')).rejects.toBeInstanceOf(NotFound);
    expect(await kube.find(kinds.deployment, { namespace, name: 'nobody' })).toBeUndefined();
    expect(await kube.delete(kinds.deployment as Kind, { namespace, name: 'nobody' })).toBe(false);
  });

  test('a name that is taken, and an object that has changed in between', async () => {
    const made = await kube.create(kinds.deployment, named('taken'));
    await expect(kube.create(kinds.deployment, named('taken'))).rejects.toBeInstanceOf(Conflict);
    await kube.patchJson(kinds.deployment, { namespace, name: 'taken' }, [
      { op: 'add', path: '/spec/suspend', value: true },
    ]);
    await expect(kube.replace(kinds.deployment, made)).rejects.toBeInstanceOf(Conflict);
    const late = kube.patchJson(kinds.deployment, { namespace, name: 'taken' }, [
      { op: 'test', path: '/metadata/resourceVersion', value: made.metadata.resourceVersion },
      { op: 'remove', path: '/spec/suspend' },
    ]);
    await expect(late).rejects.toBeInstanceOf(Conflict);
  });

  test('deleting one that took the name meanwhile', async () => {
    await kube.create(kinds.deployment, named('namesake'));
    const other = kube.delete(
      kinds.deployment,
      { namespace, name: 'namesake' },
      { uid: '99999999-9999-4999-8999-999999999999' },
    );
    await expect(other).rejects.toBeInstanceOf(Conflict);
  });

  test("a caller that gives up, and a server that can't be reached", async () => {
    const given = AbortSignal.abort(new Error('no longer'));
    await expect(kube.list(kinds.namespace, {}, given)).rejects.toThrow();
    const proxy = await tcpProxy(kubeconfig);
    const cut = await connect({
      fieldManager: 'test',
      userAgent: 'test/cut',
      kubeconfig: proxy.kubeconfig,
    });
    proxy.cut();
    await expect(cut.list(kinds.namespace)).rejects.toBeInstanceOf(Unavailable);
    proxy.stop();
  });
});

describe('objects stay as they are', () => {
  test('fields that no model knows survive an apply and a read', async () => {
    const kind = kinds.customResourceDefinition;
    const definition = buildCrd(KINDS[0] as (typeof KINDS)[number]) as KubeObject;
    const before = JSON.stringify((await kube.get(kind, { name: definition.metadata.name })).spec);
    await kube.apply(kind, definition);
    expect(JSON.stringify((await kube.get(kind, { name: definition.metadata.name })).spec)).toBe(
      before,
    );
    expect(before).toContain('x-kubernetes-validations');
  });

  test('maps of a resource spec come back byte for byte', async () => {
    const volumes = [
      { name: 'models', csi: { driver: 'x', volumeAttributes: { 'odd.key/of-it': 'one', _: '' } } },
    ];
    const template = { sourceRevisionConfig: { imageUri: 'a:1' }, resourceSpec: { volumes } };
    await kube.create(
      kinds.deployment,
      newDeployment(namespace, { metadata: { name: 'free-form' }, template }),
    );
    expect((await stored('free-form')).spec.template.resourceSpec?.volumes).toEqual(volumes);
  });

  test('a status is written without touching the spec, and null removes a field of it', async () => {
    await kube.create(kinds.deployment, named('status'));
    await kube.patchStatus(
      kinds.deployment,
      { namespace, name: 'status' },
      { phase: 'READY', message: 'x' },
    );
    const after = await kube.patchStatus(
      kinds.deployment,
      { namespace, name: 'status' },
      { message: null },
    );
    expect(after.status).toMatchObject({ phase: 'READY' });
    expect(after.status?.message).toBeUndefined();
    expect(after.metadata.generation).toBe(1);
  });
});

test('300 calls, 50 at a time, share at most 10 connections', async () => {
  const proxy = await tcpProxy(kubeconfig);
  const client = await connect({
    fieldManager: 'test',
    userAgent: 'test/many',
    kubeconfig: proxy.kubeconfig,
  });
  const codes: string[] = [];
  client.addRequestListener(({ code }) => codes.push(code));
  await Promise.all(
    Array.from({ length: 50 }, async () => {
      for (let call = 0; call < 6; call += 1)
        await client.get(kinds.namespace, { name: namespace });
    }),
  );
  expect(codes).toHaveLength(300);
  expect(new Set(codes)).toEqual(new Set(['200']));
  expect(proxy.connections()).toBeLessThanOrEqual(10);
  await client.close();
  proxy.stop();
});
