import { randomBytes } from 'node:crypto';
import { kinds } from '../../../kube/kinds.ts';
import { ASLEEP, HIBERNATED, STORE_READY } from '../../../schema/platform/objects/conditions.ts';
import { names } from '../../../schema/names.ts';
import { isRequestHandled } from '../../rollout/deployment.ts';
import type { OperatorDeps } from '../../view/deps.ts';
import { deriveSeenTemplate } from '../../pods/settled-template.ts';
import type { DeploymentStatusFields, PartReport } from '../../reports/part-report.ts';
import type { StatedCondition } from '../../kernel/outcome.ts';
import { buildStoreObjects, storeAmong, storeMemory } from '../../store/desired.ts';
import { storeSecret } from '../../store/secret.ts';
import type { DeploymentFacts, Part, WrittenFacts } from '../part.ts';

/** The key-value store of a deployment that asks for one. */
export const store: Part = {
  desired: buildStoreObjects,
  prepare: keepStore,
  keeps: ['storeSecret'],
  report: (facts) => ({ statements: storeStatement(facts), status: derivePodTemplate(facts) }),
};

/**
 * Keeps the password of a deployment's key-value store as long as it has one. The Secret is not watched. It is made
 * again, if it is gone, when somebody asks for a reconcile.
 */
async function keepStore(
  { kube, writer }: OperatorDeps,
  { deployment, settings }: DeploymentFacts,
  signal: AbortSignal,
): Promise<PartReport> {
  const known = deployment.status?.storeSecret;
  const { namespace, name } = deployment.metadata;
  if (storeMemory(deployment) === undefined) {
    if (known !== undefined)
      await kube.delete(kinds.secret, { namespace, name: known }, {}, signal);
    return {};
  }
  const made = names.storeSecret(name);
  if (known !== made || !isRequestHandled(deployment))
    await writer.create(storeSecret(deployment, settings, randomBytes), signal);
  return { status: { storeSecret: made } };
}

function derivePodTemplate({ deployment, written }: WrittenFacts): DeploymentStatusFields {
  if (storeMemory(deployment) === undefined) return {};
  const template = deriveSeenTemplate(
    storeAmong(written, deployment),
    deployment.status?.storeTemplate,
  );
  return template === undefined ? {} : { storeTemplate: template };
}

/** Tells whether the key-value store takes connections. Nothing waits for it, because streams do without. */
function storeStatement({ deployment, isAsleep, written }: WrittenFacts): StatedCondition[] {
  if (storeMemory(deployment) === undefined) return [];
  const name = names.store(deployment.metadata.name);
  const set = storeAmong(written, deployment);
  const { readyReplicas = 0 } = (set?.status ?? {}) as { readyReplicas?: number };
  const buildConditionList = (
    status: 'True' | 'False',
    reason: string,
    message: string,
  ): StatedCondition[] => [{ type: STORE_READY, status, reason, message }];
  if (readyReplicas > 0)
    return buildConditionList('True', 'StoreReady', 'The key-value store takes connections.');
  if (deployment.spec.hibernate === true)
    return buildConditionList('False', HIBERNATED, 'The key-value store is stopped.');
  if (isAsleep)
    return buildConditionList('False', ASLEEP, 'The key-value store sleeps with its deployment.');
  return buildConditionList(
    'False',
    'StoreNotReady',
    `The pod of StatefulSet ${name} is not ready. Streams go through the database meanwhile.`,
  );
}
