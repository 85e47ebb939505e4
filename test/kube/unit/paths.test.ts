import { expect, test } from 'vitest';
import { kinds } from '../../../src/kube/kinds.ts';
import { listQuery, buildKubePath, formatQuery } from '../../../src/kube/paths.ts';

test.each([
  [
    buildKubePath(kinds.deployment, { namespace: 'team', name: 'chat' }),
    '/apis/gx.dev/v1alpha1/namespaces/team/deployments/chat',
  ],
  [buildKubePath(kinds.deployment, {}), '/apis/gx.dev/v1alpha1/deployments'],
  [
    buildKubePath(kinds.pod, { namespace: 'team', name: 'p' }, 'log'),
    '/api/v1/namespaces/team/pods/p/log',
  ],
  [buildKubePath(kinds.namespace, { namespace: 'ignored', name: 'n' }), '/api/v1/namespaces/n'],
  [
    buildKubePath(kinds.secret, { namespace: 'team', name: '../x' }),
    '/api/v1/namespaces/team/secrets/..%2Fx',
  ],
  [formatQuery({ a: undefined }), ''],
  [listQuery({ labelSelector: 'a=b', limit: 5 }), '?labelSelector=a%3Db&limit=5'],
])('%s', (given, expected) => {
  expect(given).toBe(expected);
});
