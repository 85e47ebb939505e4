import type { OperatorSettings } from '../../config/platform/operator.ts';

/**
 * Returns the user and group of a pod's image, for its security context. A cluster that gives each namespace ids of its
 * own writes them itself, and refuses others.
 */
export const buildImageUser = (id: number, { fixedIds }: OperatorSettings): object =>
  fixedIds ? { runAsUser: id, runAsGroup: id, fsGroup: id } : {};
