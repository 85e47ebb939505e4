import type { OperatorSettings } from '../../config/operator.ts';

type Named = { name: string };

/** Returns the Secrets with which a pod pulls its images: its own, and then those of the installation. */
export function pullSecrets(
  own: readonly Named[] | undefined,
  { imagePullSecrets: everywhere }: OperatorSettings,
): { imagePullSecrets?: Named[] } {
  const others = everywhere
    .filter((name) => own?.some((each) => each.name === name) !== true)
    .map((name) => ({ name }));
  return own === undefined && others.length === 0
    ? {}
    : { imagePullSecrets: [...(own ?? []), ...others] };
}
