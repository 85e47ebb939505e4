import { expect, test } from 'vitest';
import { kinds } from '../../src/kube/kube.ts';
import { listQuery, pathOf, queryOf } from '../../src/kube/client.ts';

test.each([
  [pathOf(kinds.deployment, { namespace: 'team', name: 'chat' }), '/apis/gx.dev/v1alpha1/namespaces/team/deployments/chat'],
  [pathOf(kinds.deployment, {}), '/apis/gx.dev/v1alpha1/deployments'],
  [pathOf(kinds.pod, { namespace: 'team', name: 'p' }, 'log'), '/api/v1/namespaces/team/pods/p/log'],
  [pathOf(kinds.namespace, { namespace: 'ignored', name: 'n' }), '/api/v1/namespaces/n'],
  [pathOf(kinds.secret, { namespace: 'team', name: '../x' }), '/api/v1/namespaces/team/secrets/..%2Fx'],
  [queryOf({ a: undefined }), ''],
  [listQuery({ labelSelector: 'a=b', limit: 5 }), '?labelSelector=a%3Db&limit=5'],
])('%s', (given, expected) => {
  expect(given).toBe(expected);
});
