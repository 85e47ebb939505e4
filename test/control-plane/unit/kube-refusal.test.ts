import { expect, test } from 'vitest';
import { callKube } from '../../../src/control-plane/kube-refusal.ts';
import { Conflict, Forbidden, NotFound, Unavailable } from '../../../src/errors.ts';
import { Denied, KubeRefused } from '../../../src/kube/errors.ts';

const cause = { field: 'spec.template', reason: 'FieldValueInvalid', message: 'is wrong' };

test.each([
  [
    'an object that is refused',
    new KubeRefused(422, 'whole text', { reason: 'Invalid', causes: [cause] }),
    400,
    'spec.template: is wrong',
  ],
  [
    'an object that is refused without a cause',
    new KubeRefused(422, 'whole text', { reason: 'Invalid', causes: [] }),
    400,
    'whole text',
  ],
  [
    'a quota',
    new Denied('deployments "a" is forbidden: exceeded quota: q'),
    400,
    'deployment: deployments "a" is forbidden: exceeded quota: q',
  ],
  [
    'a webhook',
    new Denied('admission webhook "w" denied the request: no'),
    400,
    'deployment: admission webhook "w" denied the request: no',
  ],
  [
    'a namespace on its way out',
    new Forbidden(
      'deployments "a" is forbidden: unable to create new content in namespace n because it is being terminated',
    ),
    400,
    'source_config.listener_config.k8s_namespace: the namespace is being deleted',
  ],
  [
    'a right that the control plane lacks',
    new Forbidden('User "x" cannot create resource'),
    503,
    'The control plane lacks a permission in the cluster; its log names it.',
  ],
  [
    'a call that the API server does not take',
    new KubeRefused(405, 'no', { reason: '', causes: [] }),
    503,
    'The cluster refused the call; the log says why.',
  ],
  ['an API server that is away', new Unavailable('away'), 503, 'away'],
  ['a lost race', new Conflict('taken'), 409, 'taken'],
  ['what is not there', new NotFound('no'), 404, 'no'],
])('%s is told to the caller as %3$i', async (_, error, status, message) => {
  await expect(callKube(() => Promise.reject(error))).rejects.toMatchObject({ status, message });
});
