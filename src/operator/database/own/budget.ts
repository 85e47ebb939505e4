import type { KubeObject } from '../../../kube/kube.ts';
import type { DeploymentResource } from '../../../schema/custom-resources.ts';
import { selectorOf } from '../../../schema/labels.ts';
import { names } from '../../../schema/names.ts';
import { disruptionBudget } from '../../family/disruption-budget.ts';

/** Returns the budget that keeps drains from the database's one pod, where its deployment asks for one. */
export function databaseBudget(deployment: DeploymentResource): KubeObject[] {
  if (deployment.spec.database?.podDisruptionBudget !== true) return [];
  const { name } = deployment.metadata;
  const selector = selectorOf(name, 'database');
  return [disruptionBudget(deployment, { component: 'database', name: names.databaseBudget(name), selector, maxUnavailable: 0 })];
}
