import type { OperatorSettings } from '../../../config/platform/operator.ts';
import type { KubeObject } from '../../../kube/kube.ts';
import { API_SCALED } from '../../../schema/platform/objects/conditions.ts';
import type {
  DeploymentResource,
  RevisionResource,
} from '../../../schema/platform/resources/custom-resources.ts';
import { API_SCALING } from '../../../schema/platform/objects/labels.ts';
import { AGENT_CONTAINER, names } from '../../../schema/names.ts';
import { buildAppliedMetadata } from '../../objects/metadata.ts';
import { resolveMaxReplicas, resolveWantedReplicas } from '../../rollout/replicas.ts';
import type { StatedCondition } from '../../kernel/outcome.ts';
import { findRevisionByName } from '../../rollout/revisions.ts';
import { findScalingCondition } from '../../pods/workload-state.ts';
import type { Part } from '../part.ts';

/** Percent of their CPU requests that api pods use on average when their number is right. */
const CPU_PERCENT = 70;
/** Seconds that Kubernetes takes as a window at most. */
const LONGEST_WINDOW = 3600;

/** The autoscaler of the api pods of the serving revision, if they have a range. */
export const autoscaler: Part = {
  desired: ({ deployment, target, revisions, settings }) =>
    buildApiAutoscaler(deployment, { revision: findRevisionByName(revisions, target), settings }),
  report: ({ deployment, active, revisions, settings, written }) => ({
    statements: buildScalingConditions(
      deployment,
      { revision: findRevisionByName(revisions, active), settings },
      written,
    ),
  }),
};

type Serving = { revision: RevisionResource | undefined; settings: OperatorSettings };

/** Returns the range within which the api pods of the serving revision follow their load; undefined if it has none. */
function resolveRange(
  { metadata, spec }: DeploymentResource,
  { revision, settings }: Serving,
): { least: number; most: number } | undefined {
  const isOthers = metadata.annotations?.[API_SCALING] === 'others';
  if (revision === undefined || spec.hibernate === true || isOthers) return undefined;
  // An autoscaler has at least one pod. A workload that has none is left alone by it.
  const least = Math.max(1, resolveWantedReplicas(revision, 'api', settings));
  const most = resolveMaxReplicas(revision, 'api', settings);
  return most > least ? { least, most } : undefined;
}

/**
 * Returns the autoscaler of the serving revision's api pods. Within its range their number is the autoscaler's, and the
 * revision's reconcile leaves it alone.
 */
function buildApiAutoscaler(deployment: DeploymentResource, serving: Serving): KubeObject[] {
  const { settings } = serving;
  const range = resolveRange(deployment, serving);
  if (range === undefined || serving.revision === undefined) return [];
  const target = { type: 'Utilization', averageUtilization: CPU_PERCENT };
  return [
    {
      apiVersion: 'autoscaling/v2',
      kind: 'HorizontalPodAutoscaler',
      metadata: buildAppliedMetadata(
        deployment,
        'agent',
        names.apiAutoscaler(deployment.metadata.name),
      ),
      spec: {
        scaleTargetRef: {
          apiVersion: 'apps/v1',
          kind: 'Deployment',
          name: names.apiWorkload(serving.revision.metadata.name),
        },
        minReplicas: range.least,
        maxReplicas: range.most,
        // Of the agent alone: a sidecar without a request would leave the autoscaler without a figure.
        // Down as slowly as queue pods.
        behavior: {
          scaleDown: {
            stabilizationWindowSeconds: Math.min(LONGEST_WINDOW, settings.queueScaleDownSeconds),
          },
        },
        metrics: [
          {
            type: 'ContainerResource',
            containerResource: { name: 'cpu', container: AGENT_CONTAINER, target },
          },
        ],
      },
    },
  ];
}

/** Tells whether the number of api pods follows their load. */
function buildScalingConditions(
  deployment: DeploymentResource,
  serving: Serving,
  objects: KubeObject[],
): StatedCondition[] {
  const range = resolveRange(deployment, serving);
  if (range === undefined) return [];
  const active = findScalingCondition(
    objects.find(({ kind }) => kind === 'HorizontalPodAutoscaler'),
  );
  const buildConditionList = (
    status: 'True' | 'False',
    reason: string,
    message: string,
  ): StatedCondition[] => [{ type: API_SCALED, status, reason, message }];
  if (active === undefined)
    return buildConditionList(
      'False',
      'NotScaledYet',
      `The autoscaler has not reported yet; there are at least ${range.least} api pods.`,
    );
  if (active.status === 'True')
    return buildConditionList(
      'True',
      'FollowsLoad',
      `There are ${range.least} to ${range.most} api pods, by their CPU.`,
    );
  if (active.reason === 'ScalingDisabled')
    return buildConditionList(
      'False',
      'Paused',
      'The autoscaler pauses while there is no api pod.',
    );
  return buildConditionList(
    'False',
    'NoMetrics',
    `The autoscaler gets no metrics, so minScale applies. ${active.message ?? ''}`.trim(),
  );
}
