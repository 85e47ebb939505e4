import type { OperatorSettings } from '../../../config/operator.ts';
import type { KubeObject } from '../../../kube/kube.ts';
import type { DeploymentResource } from '../../../schema/custom-resources.ts';
import { RENEW_DATABASE } from '../../../schema/labels.ts';
import { hashOf } from '../../../schema/revision-of.ts';
import { settledTemplate, withTemplateHash } from '../../pods/settled-template.ts';
import { isSetUp } from '../../pods/workload-state.ts';
import type { DatabaseView } from '../database.ts';
import { databaseBudget } from './budget.ts';
import { databaseReplicas } from './hibernate.ts';
import { databasePolicy } from './policy.ts';
import { databaseService } from './service.ts';
import { databaseSet } from './set.ts';

/** Returns the objects of a managed database, in the order in which they are made. */
export function desiredDatabase(deployment: DeploymentResource, settings: OperatorSettings, view: DatabaseView): KubeObject[] {
  const live = view.database;
  const set = databaseSet(deployment, settings, { live, replicas: databaseReplicas(deployment, view) });
  return [databaseService(deployment), databasePolicy(deployment), ...databaseBudget(deployment), settled(deployment, set, live)];
}

/** The annotation with the hash of what the deployment asks of its database's pod. */
const ASKED = 'gx.dev/asked';

/**
 * A database keeps its pod until its deployment asks for another one: another size or, by annotation, today's image.
 * One that never answered has nothing to keep, so that an image repaired by the installation's settings gets in.
 */
function settled({ metadata, spec, status }: DeploymentResource, made: KubeObject, live: KubeObject | undefined): KubeObject {
  const { dbStorageGi: _volume, ...sizes } = spec.template.resourceSpec ?? {};
  const given = Object.entries(sizes).filter(([name]) => name.startsWith('db') || name === 'imagePullSecrets');
  const asked = hashOf([Object.fromEntries(given), metadata.annotations?.[RENEW_DATABASE] ?? null]);
  const annotated = { ...made, metadata: { ...made.metadata, annotations: { ...made.metadata.annotations, [ASKED]: asked } } };
  const hashed = withTemplateHash(annotated);
  const isTried = status?.activeRevision !== undefined || isSetUp(live);
  return isTried && live?.metadata.annotations?.[ASKED] === asked ? settledTemplate(hashed, live, status?.databaseTemplate) : hashed;
}
