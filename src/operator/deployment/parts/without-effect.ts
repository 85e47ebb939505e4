import type { OperatorSettings } from '../../../config/operator.ts';
import type { DeploymentResource } from '../../../schema/platform/custom-resources.ts';
import { UNUSED_RESOURCE_FIELDS } from '../../../schema/platform/resource-spec.ts';
import { camelKey } from '../../../schema/types.ts';
import { FIELDS_WITHOUT_EFFECT } from '../../../schema/platform/conditions.ts';
import type { DatabaseEngine } from '../../database/database.ts';
import { databaseOf } from '../../database/engines.ts';
import { isQueueScaled } from '../../rollout/queue-size.ts';
import type { StatedCondition } from '../../kernel/outcome.ts';
import { replicasAllowed, replicasWanted, type WorkloadComponent } from '../../rollout/replicas.ts';
import type { Part } from '../part.ts';

/** The fields of the spec that have no effect. */
export const withoutEffect: Part = {
  report: ({ deployment, settings }) => ({
    statements: effectless(fieldsWithoutEffect(deployment, settings, databaseOf(deployment.spec).withoutEffect), settings),
  }),
};

/** States which fields of the spec have no effect, and, where no gateway is installed, that no server reports. */
export function effectless(fields: string[], { gateway }: Pick<OperatorSettings, 'gateway'>): StatedCondition[] {
  const sentences = [
    ...(fields.length > 0 ? [`Stored, but the platform does not act on: ${fields.join(', ')}.`] : []),
    ...(gateway === undefined ? [NO_GATEWAY] : []),
  ];
  if (sentences.length === 0) return [];
  const reason = fields.length > 0 ? 'NotBuiltYet' : 'NoGateway';
  return [{ type: FIELDS_WITHOUT_EFFECT, status: 'True', reason, message: sentences.join(' ') }];
}

const NO_GATEWAY = "No gateway is installed: the server's version, its mount prefix and what decides who may call are not known.";

/** Returns the fields of the spec that are stored but have no effect today, those of the database first. */
export function fieldsWithoutEffect(
  deployment: DeploymentResource,
  settings: OperatorSettings,
  database: DatabaseEngine['withoutEffect'],
): string[] {
  const spec = deployment.spec.template.resourceSpec ?? {};
  const hasRange = (component: WorkloadComponent): boolean =>
    replicasAllowed(deployment, component, settings) > replicasWanted(deployment, component, settings);
  const fields: [string, boolean][] = [
    ['buildOnPush', deployment.spec.sourceConfig?.buildOnPush === true && settings.builder === undefined],
    ['queueMaxScale', hasRange('queue') && !isQueueScaled(deployment, deployment, settings)],
    // Kubernetes always restarts the containers of a workload's pods, and those before them until they succeed.
    ...(['initContainers', 'sidecars'] as const).map((name): [string, boolean] => [
      `${name}.restartPolicy`,
      spec[name]?.some(({ restartPolicy }) => restartPolicy === 'OnFailure') === true,
    ]),
    ...UNUSED_RESOURCE_FIELDS.map(camelKey).map((name): [string, boolean] => [name, name in spec]),
    ['route', deployment.spec.route !== undefined && settings.route === undefined],
    // Nobody could check the keys of the tenant. The deployment's own key opens the agents all the same.
    ['auth.mode', settings.controlPlaneUrl === undefined && deployment.spec.template.sourceRevisionConfig?.auth?.mode === 'tenant'],
  ];
  const ofDatabase = database.map((name): [string, boolean] => [name, spec[name] !== undefined]);
  return [...ofDatabase, ...fields].filter(([, isIdle]) => isIdle).map(([name]) => name);
}
