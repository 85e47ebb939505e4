import { Forbidden, Problem, Rejected, Unavailable } from '../errors.ts';
import { Denied, KubeRefused } from '../kube/errors.ts';

/**
 * Words a refusal by the API server as this API does. A refused object breaks a rule of the domain (400). Rights that
 * the control plane lacks are not the caller's to repair (503), unless a quota or admission policy refused it.
 */
function toRefusal(thrown: unknown): unknown {
  if (thrown instanceof KubeRefused && (thrown.status === 422 || thrown.status === 400)) {
    const causes = thrown.causes.map(({ field, message }) =>
      [field, message].filter((part) => part !== '').join(': '),
    );
    return new Rejected(causes.length > 0 ? causes.join('; ') : thrown.message, { cause: thrown });
  }
  if (thrown instanceof Forbidden) {
    if (thrown.message.includes('because it is being terminated'))
      return new Rejected(
        'source_config.listener_config.k8s_namespace: the namespace is being deleted',
        { cause: thrown },
      );
    if (thrown instanceof Denied)
      return new Rejected(`deployment: ${thrown.message}`, { cause: thrown });
    return new Unavailable(
      'The control plane lacks a permission in the cluster; its log names it.',
      { cause: thrown },
    );
  }
  if (thrown instanceof KubeRefused)
    return new Problem(503, 'The cluster refused the call; the log says why.', { cause: thrown });
  return thrown;
}

/** Runs a call to the API server and words its refusals for the caller. */
export async function callKube<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw toRefusal(error);
  }
}
