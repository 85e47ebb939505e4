import type { OperatorSettings } from '../../../config/platform/operator.ts';
import type { KubeObject } from '../../../kube/kube.ts';
import type { DeploymentResource } from '../../../schema/platform/resources/custom-resources.ts';
import { resolveConnections, countNeededConnections } from '../../rollout/connections.ts';
import { isNothingServing } from '../../rollout/deployment.ts';
import { parseQuantity } from '../../kernel/quantity.ts';
import { addTemplateHash } from '../../pods/settled-template.ts';
import { hasOnlyTodaysPods } from '../../pods/workload-state.ts';
import { isSettled } from './settled.ts';
import { formatWorkMemory } from './settings.ts';

type Container = { name: string; args?: string[]; resources?: { requests?: { memory?: string } } };
type SetSpec = { template: { spec: { containers: Container[] } } };

const POSTGRES = 'postgres';
const MAX_CONNECTIONS = 'max_connections=';
const WORK_MEMORY = 'work_mem=';

const getContainers = ({ spec }: KubeObject): Container[] =>
  (spec as SetSpec).template.spec.containers;

/** Returns `max_connections` of a set, where its pod is made by the operator. */
function readMaxConnections(set: KubeObject): number | undefined {
  const { args = [] } = getContainers(set).find(({ name }) => name === POSTGRES) ?? {};
  const given = args.find((argument) => argument.startsWith(MAX_CONNECTIONS));
  return given === undefined ? undefined : Number(given.slice(MAX_CONNECTIONS.length));
}

/**
 * Returns the number that the database is to take. A settled one keeps its number, whatever the installation's default
 * is today, until the pods need more.
 */
function chooseMaxConnections(
  deployment: DeploymentResource,
  settings: OperatorSettings,
  live: KubeObject | undefined,
): number {
  const asked = resolveConnections(deployment, settings).max;
  if (
    live === undefined ||
    deployment.spec.template.resourceSpec?.dbMaxConnections !== undefined ||
    !isSettled(deployment, live)
  )
    return asked;
  return Math.max(readMaxConnections(live) ?? asked, countNeededConnections(deployment, settings));
}

/**
 * Returns the number that the pods of a revision may share out. Undefined while the database does not take it yet: its
 * set has another number, or beside a serving revision the pod of an earlier template.
 */
export function getServedConnections(
  deployment: DeploymentResource,
  settings: OperatorSettings,
  { database, databasePods }: { database: KubeObject | undefined; databasePods: KubeObject[] },
): number | undefined {
  const wanted = chooseMaxConnections(deployment, settings, database);
  const isBusy = databasePods.length > 0 && !isNothingServing(deployment);
  if (database === undefined) return isBusy ? undefined : wanted;
  const known = readMaxConnections(database) ?? wanted;
  return known === wanted && (!isBusy || hasOnlyTodaysPods(database)) ? wanted : undefined;
}

/**
 * Returns the set with as many connections as the pods need, where it has fewer. A settled set changes in nothing else;
 * the memory of a query follows the number.
 */
export function growConnections(
  set: KubeObject,
  deployment: DeploymentResource,
  settings: OperatorSettings,
): KubeObject {
  const known = readMaxConnections(set);
  const needed = countNeededConnections(deployment, settings);
  if (
    deployment.spec.template.resourceSpec?.dbMaxConnections !== undefined ||
    known === undefined ||
    known >= needed
  )
    return set;
  const containers = getContainers(set).map((one) =>
    one.name === POSTGRES ? setConnections(one, needed) : one,
  );
  const { template, ...spec } = set.spec as SetSpec;
  return addTemplateHash({
    ...set,
    spec: { ...spec, template: { ...template, spec: { ...template.spec, containers } } },
  });
}

function setConnections(container: Container, maxConnections: number): Container {
  const memoryMb = (parseQuantity(container.resources?.requests?.memory ?? '') ?? 0) / 2 ** 20;
  const args = container.args?.map((argument) => {
    if (argument.startsWith(MAX_CONNECTIONS)) return `${MAX_CONNECTIONS}${maxConnections}`;
    return argument.startsWith(WORK_MEMORY)
      ? `${WORK_MEMORY}${formatWorkMemory({ memoryMb, maxConnections })}`
      : argument;
  });
  return { ...container, ...(args && { args }) };
}
