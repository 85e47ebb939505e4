import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { KINDS } from '../../src/schema/platform/resources/custom-kinds.ts';
import { GROUP } from '../../src/schema/platform/objects/api-group.ts';

const script = readFileSync(join(import.meta.dirname, '../../config/argocd/health.lua'), 'utf8');

/**
 * Returns Argo CD's ConfigMap with the health script of every kind that has a status. Kinds without one are healthy
 * once they exist.
 */
export const buildArgocdConfigMap = (): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'argocd-cm', namespace: 'argocd' },
  data: Object.fromEntries(
    KINDS.filter(({ status }) => status !== undefined).map(({ kind }) => [
      `resource.customizations.health.${GROUP}_${kind}`,
      script,
    ]),
  ),
});
