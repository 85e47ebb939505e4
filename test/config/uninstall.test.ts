import { describe, expect, test } from 'vitest';
import { readUninstallConfig } from '../../src/config/platform/uninstall.ts';
import { requireDataStays, readOperatorSettings } from '../../src/operator/uninstall/plan.ts';
import { deployment } from '../kit/objects.ts';

test('data stays unless its word is given', () => {
  expect(readUninstallConfig({ POD_NAMESPACE: 'gx-system' }, [])).toMatchObject({
    namespace: 'gx-system',
    deletesData: false,
    seconds: 600,
  });
  expect(readUninstallConfig({}, ['--data', 'delete-all-data', '--timeout', '5'])).toMatchObject({
    deletesData: true,
    seconds: 5,
  });
});

test.each([
  [
    ['--data', 'yes'],
    'uninstall: --data "yes" deletes nothing. To delete all data, the word is delete-all-data.',
  ],
  [['--data', ''], 'the word is delete-all-data'],
  [['--timeout', 'soon'], 'uninstall: --timeout "soon" is not a number of seconds.'],
  [['--force'], "uninstall: Unknown option '--force'"],
])('%j is refused', (args, sentence) => {
  expect(() => readUninstallConfig({}, args)).toThrow(sentence);
});

describe('deployments whose deletion deletes their data', () => {
  const named = (name: string, deletionPolicy?: 'Retain' | 'Delete') =>
    deployment({
      metadata: { name, namespace: 'gx-agents' },
      spec: { ...(deletionPolicy && { deletionPolicy }) },
    });

  test('stop the removal, by their own policy or by that of the installation', () => {
    const deployments = [named('keeps', 'Retain'), named('loses', 'Delete'), named('open')];
    const refusal = (policy: 'Retain' | 'Delete') => () =>
      requireDataStays(deployments, policy, 'all');
    expect(refusal('Retain')).toThrow(
      /^Nothing was removed, because .* go: gx-agents\/loses\. .* --data all /,
    );
    expect(refusal('Delete')).toThrow('go: gx-agents/loses, gx-agents/open.');
    expect(() =>
      requireDataStays([named('keeps', 'Retain'), named('open')], 'Retain', 'all'),
    ).not.toThrow();
  });

  test('are named up to ten', () => {
    const many = Array.from({ length: 12 }, (_, at) =>
      named(`a${String(at).padStart(2, '0')}`, 'Delete'),
    );
    expect(() => requireDataStays(many, 'Retain', 'all')).toThrow('gx-agents/a09 and 2 more.');
  });
});

test("the settings of the operator are its workload's variables that have a value", () => {
  const env = [
    { name: 'GX_DELETION_POLICY', value: 'Delete' },
    { name: 'GX_NODE_HOST', value: '' },
    { name: 'POD_NAME' },
  ];
  const workload = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'gx-operator' },
    spec: { template: { spec: { containers: [{ env }] } } },
  };
  expect(readOperatorSettings(workload)).toEqual({ GX_DELETION_POLICY: 'Delete' });
  expect(readOperatorSettings(undefined)).toEqual({});
});
