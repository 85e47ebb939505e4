import type { OperatorSettings } from '../../src/config/platform/operator.ts';
import type { KubeObject } from '../../src/kube/kube.ts';
import type { WrittenFacts } from '../../src/operator/deployment/part.ts';
import { DEPLOYMENT_PARTS } from '../../src/operator/deployment/parts.ts';
import type { DeploymentResource } from '../../src/schema/platform/resources/custom-resources.ts';
import { settings } from './objects.ts';

/** Returns the facts of a deployment of which only that exists which the test names. */
export const factsOf = (
  deployment: DeploymentResource,
  given: Partial<WrittenFacts> = {},
): WrittenFacts => ({
  deployment,
  settings: settings(),
  now: new Date(),
  revisions: [],
  foreign: [],
  children: [],
  databasePods: [],
  agentPods: [],
  passwordPods: [],
  backups: [],
  backupPods: [],
  restorePods: [],
  verifyPods: [],
  workloads: [],
  apiServer: [],
  gateways: [],
  place: undefined,
  database: undefined,
  service: undefined,
  isAsleep: false,
  rollout: { statements: [] },
  held: undefined,
  active: undefined,
  target: given.active,
  missing: undefined,
  ports: {},
  sleep: { sleep: {}, statements: [] },
  tracing: { state: 'there' },
  branch: undefined,
  look: undefined,
  queue: undefined,
  interrupted: undefined,
  usage: undefined,
  route: undefined,
  backup: undefined,
  restore: undefined,
  replace: undefined,
  written: [],
  refused: [],
  trouble: undefined,
  secret: undefined,
  ...given,
});

/** Returns all objects of a deployment besides its revisions, in the order in which they are made. */
export const desiredDeployment = (
  deployment: DeploymentResource,
  by: OperatorSettings,
  given: Partial<WrittenFacts> = {},
): KubeObject[] => {
  const facts = factsOf(deployment, { settings: by, ...given });
  return DEPLOYMENT_PARTS.flatMap(({ desired }) => desired?.(facts) ?? []);
};
