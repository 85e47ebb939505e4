import type { OperatorSettings } from '../../../config/platform/operator.ts';
import type { DeploymentResource } from '../../../schema/platform/resources/custom-resources.ts';
import { UNUSED_RESOURCE_FIELDS } from '../../../schema/platform/spec/resource-spec.ts';
import { toCamelKey } from '../../../schema/types.ts';
import { FIELDS_WITHOUT_EFFECT } from '../../../schema/platform/objects/conditions.ts';
import type { DatabaseEngine } from '../../database/database.ts';
import { getDatabaseEngine } from '../../database/engines.ts';
import { isQueueScaled } from '../../rollout/queue-size.ts';
import type { StatedCondition } from '../../kernel/outcome.ts';
import {
  resolveMaxReplicas,
  resolveWantedReplicas,
  type WorkloadComponent,
} from '../../rollout/replicas.ts';
import type { Part } from '../part.ts';

export const withoutEffect: Part = {
  report: ({ deployment, settings }) => ({
    statements: buildEffectlessConditions(
      listEffectlessFields(deployment, settings, getDatabaseEngine(deployment.spec).withoutEffect),
      {
        ...settings,
        customUrl: deployment.spec.sourceConfig?.customUrl,
      },
    ),
  }),
};

/**
 * States which fields of the spec have no effect, that a URL leads nowhere where there are no routes, and, where no
 * gateway is installed, that no server reports.
 */
export function buildEffectlessConditions(
  fields: string[],
  { gateway, route, customUrl }: OperatorSettings & { customUrl?: string | undefined },
): StatedCondition[] {
  const faults: [reason: string, sentence: string][] = [];
  if (fields.length > 0)
    faults.push(['NotBuiltYet', `Stored, but the platform does not act on: ${fields.join(', ')}.`]);
  if (customUrl !== undefined && route === undefined) faults.push(['NoRoutes', NO_ROUTES]);
  if (gateway === undefined) faults.push(['NoGateway', NO_GATEWAY]);
  if (faults.length === 0) return [];
  const [[reason] = ['']] = faults;
  const sentences = faults.map(([, sentence]) => sentence);
  return [{ type: FIELDS_WITHOUT_EFFECT, status: 'True', reason, message: sentences.join(' ') }];
}

const NO_ROUTES =
  'This installation has no routes (settings.route.kind), so sourceConfig.customUrl is shown as the URL, and nothing of the platform answers there: lead it to the Service yourself.';

const NO_GATEWAY =
  "No gateway is installed: the server's version, its mount prefix and what decides who may call are not known.";

/** Returns the fields of the spec that are stored but have no effect today, those of the database first. */
export function listEffectlessFields(
  deployment: DeploymentResource,
  settings: OperatorSettings,
  database: DatabaseEngine['withoutEffect'],
): string[] {
  const spec = deployment.spec.template.resourceSpec ?? {};
  const hasRange = (component: WorkloadComponent): boolean =>
    resolveMaxReplicas(deployment, component, settings) >
    resolveWantedReplicas(deployment, component, settings);
  const fields: [string, boolean][] = [
    [
      'buildOnPush',
      deployment.spec.sourceConfig?.buildOnPush === true && settings.builder === undefined,
    ],
    ['queueMaxScale', hasRange('queue') && !isQueueScaled(deployment, deployment, settings)],
    // One of the time before the definition refused it.
    [
      'sidecars.restartPolicy',
      spec.sidecars?.some(({ restartPolicy }) => restartPolicy === 'OnFailure') === true,
    ],
    ...UNUSED_RESOURCE_FIELDS.map(toCamelKey).map((name): [string, boolean] => [
      name,
      name in spec,
    ]),
    ['route', deployment.spec.route !== undefined && settings.route === undefined],
    // Nobody could check the keys of the tenant. The deployment's own key opens the agents all the same.
    [
      'auth.mode',
      settings.controlPlaneUrl === undefined &&
        deployment.spec.template.sourceRevisionConfig?.auth?.mode === 'tenant',
    ],
  ];
  const ofDatabase = database.map((name): [string, boolean] => [name, spec[name] !== undefined]);
  return [...ofDatabase, ...fields].filter(([, isIdle]) => isIdle).map(([name]) => name);
}
