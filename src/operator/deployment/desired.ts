import type { OperatorSettings } from '../../config/operator.ts';
import type { KubeObject } from '../../kube/kube.ts';
import type { DeploymentResource } from '../../schema/custom-resources.ts';
import { RENEW_DATABASE } from '../../schema/labels.ts';
import { hashOf } from '../../schema/revision-of.ts';
import { settledTemplate, withTemplateHash } from '../pods/settled-template.ts';
import { isSetUp } from '../pods/workload-state.ts';
import { databaseSet } from '../database/own/set.ts';
import { agentBudget, databaseBudget } from '../database/own/budget.ts';
import { agentService, databasePolicy, databaseService } from './service.ts';

/** Everything a deployment has beside its revisions, in the order in which it is made (pure). */
export function desiredDeployment(
  deployment: DeploymentResource,
  settings: OperatorSettings,
  { database, active, replicas = 1 }: { database?: KubeObject | undefined; active?: string | undefined; replicas?: number },
): KubeObject[] {
  const agent = [agentService(deployment, settings, active), ...agentBudget(deployment, settings, active)];
  if (deployment.spec.database?.external !== undefined) return agent;
  const set = settledDatabase(deployment, databaseSet(deployment, settings, { live: database, replicas }), database);
  return [databaseService(deployment), databasePolicy(deployment), ...databaseBudget(deployment), set, ...agent];
}

/** Hash of what the deployment asks of its database's pod. */
const ASKED = 'gx.dev/asked';

/**
 * A database keeps its pod until its deployment asks for another one: another size, or, by annotation, today's image. One that never
 * answered has nothing to keep: an image that is mended by the installation's settings gets in.
 */
function settledDatabase({ metadata, spec, status }: DeploymentResource, made: KubeObject, live: KubeObject | undefined): KubeObject {
  const { dbStorageGi: _volume, ...sizes } = spec.template.resourceSpec ?? {};
  const given = Object.entries(sizes).filter(([name]) => name.startsWith('db') || name === 'imagePullSecrets');
  const asked = hashOf([Object.fromEntries(given), metadata.annotations?.[RENEW_DATABASE] ?? null]);
  const annotated = { ...made, metadata: { ...made.metadata, annotations: { ...made.metadata.annotations, [ASKED]: asked } } };
  const hashed = withTemplateHash(annotated);
  const isTried = status?.activeRevision !== undefined || isSetUp(live);
  return isTried && live?.metadata.annotations?.[ASKED] === asked ? settledTemplate(hashed, live, status?.databaseTemplate) : hashed;
}
