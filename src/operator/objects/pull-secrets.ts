import type { OperatorSettings } from '../../config/platform/operator.ts';

type Named = { name: string };

/** The account of pods that name none. */
const DEFAULT_ACCOUNT = 'default';

/**
 * Returns the Secrets with which a pod pulls its images: its own, and then those of the installation. A pod without its
 * own has those of its ServiceAccount. Kubernetes adds these only to pods that name none at all.
 */
export function pullSecrets(
  own: readonly Named[] | undefined,
  { imagePullSecrets: everywhere, findAccountSecrets }: OperatorSettings,
  account: { namespace: string | undefined; name?: string | undefined },
): { imagePullSecrets?: Named[] } {
  if (own === undefined && everywhere.length === 0) return {};
  const { namespace = '', name = DEFAULT_ACCOUNT } = account;
  const first = own ?? findAccountSecrets?.(namespace, name) ?? [];
  const others = everywhere
    .filter((secret) => !first.some((each) => each.name === secret))
    .map((secret) => ({ name: secret }));
  return { imagePullSecrets: [...first.map(({ name: secret }) => ({ name: secret })), ...others] };
}
