import { beforeAll, describe, expect, test } from 'vitest';
import { access } from '../../dev/generate/access.ts';
import { readUninstallConfig } from '../../src/config/platform/uninstall.ts';
import type { PolicyRule } from '../../src/schema/platform/spec/policy-rule.ts';
import { idOf, renderer, type KubeYaml, type PodSpec, type Renderer } from './render.ts';

/* The Job that removes every deployment, and its account. */

let render: Renderer;
beforeAll(async () => {
  render = await renderer();
}, 1_200_000);

const podOf = (objects: KubeYaml[], kind: string, name: string): PodSpec => {
  const found = objects.find((object) => object.kind === kind && object.metadata.name === name);
  return found!.spec!.template!.spec;
};

/** Returns each permission of some rules as verb, group and resource. */
const rights = (rules: PolicyRule[]): string[] =>
  rules.flatMap(({ apiGroups, resources, verbs }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((resource) => verbs.map((verb) => `${verb} ${group}/${resource}`)),
    ),
  );

describe.each([
  ['config/uninstall', false],
  ['config/uninstall-with-data', true],
])('%s', (folder, deletesData) => {
  test('runs the image of the operator, restricted, under an account of its own', async () => {
    const objects = await render.kustomize(folder);
    expect(objects.map(idOf).toSorted()).toEqual([
      'ClusterRole/gx-uninstall',
      'ClusterRoleBinding/gx-uninstall',
      'Job/gx-system/gx-uninstall',
      'ServiceAccount/gx-system/gx-uninstall',
    ]);
    const pod = podOf(objects, 'Job', 'gx-uninstall');
    const operator = podOf(await render.kustomize('config/default'), 'Deployment', 'gx-operator');
    expect(pod.serviceAccountName).toBe('gx-uninstall');
    expect(pod.containers[0]?.image).toBe(operator.containers[0]?.image);
    expect(pod.securityContext).toEqual(operator.securityContext);
    expect(pod.containers[0]?.['securityContext']).toEqual(
      operator.containers[0]?.['securityContext'],
    );
  });

  test(`${deletesData ? 'deletes' : 'keeps'} the data`, async () => {
    const [command, ...args] =
      podOf(await render.kustomize(folder), 'Job', 'gx-uninstall').containers[0]?.args ?? [];
    expect(command).toBe('uninstall');
    expect(readUninstallConfig({}, args).deletesData).toBe(deletesData);
  });
});

test('its account has the rights of an operator in every namespace', async () => {
  const role = (await render.kustomize('config/uninstall')).find(
    ({ kind }) => kind === 'ClusterRole',
  );
  const { own, both, builds = [], git = [] } = access.operator;
  const has = new Set(rights(role!.rules as PolicyRule[]));
  expect(
    rights([...own, ...both, ...builds, ...git] as PolicyRule[]).filter((right) => !has.has(right)),
  ).toEqual([]);
});
