import { afterAll, beforeAll, expect, test } from 'vitest';
import { NotFound } from '../../src/errors.ts';
import { kinds } from '../../src/kube/kinds.ts';
import type { Kind, KubeObject } from '../../src/kube/kube.ts';
import { buildOwnedMetadata } from '../../src/operator/objects/metadata.ts';
import { OPERATOR_KINDS } from '../../src/operator/kinds/table.ts';
import { startApiServer, type ApiServer } from '../kit/api-server.ts';
import { newDeployment } from '../kit/objects.ts';
import { metricOf } from '../kit/operator.ts';
import { openStage, type Stage } from '../kit/stage.ts';
import { until } from '../kit/until.ts';

/*
 * The table of the operator has one more kind here, whose CRD is missing at first. The API server is the test's own,
 * because it gets that CRD.
 */

const NAME = 'plantedroutes.planted.example';
const route: Kind = {
  apiVersion: 'planted.example/v1',
  kind: 'PlantedRoute',
  plural: 'plantedroutes',
  namespaced: true,
};
const definition: KubeObject = {
  apiVersion: kinds.customResourceDefinition.apiVersion,
  kind: kinds.customResourceDefinition.kind,
  metadata: { name: NAME },
  spec: {
    group: 'planted.example',
    scope: 'Namespaced',
    names: { kind: route.kind, plural: route.plural, singular: 'plantedroute' },
    versions: [
      { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } },
    ],
  },
};

let server: ApiServer;
let stage: Stage;

beforeAll(async () => {
  server = await startApiServer();
  stage = await openStage('missing', server.kubeconfig);
  stage.startKubelet();
}, 1_200_000);
afterAll(async () => {
  await stage.stop();
  await server.stop();
});

const apply = (name: string): Promise<object> =>
  stage.kube.create(kinds.deployment, newDeployment(stage.namespace, { metadata: { name } }));
const isGone = (found: Promise<object>): Promise<boolean> =>
  found.then(
    () => false,
    (error: unknown) => error instanceof NotFound,
  );

/** Makes a route that belongs to a deployment which does not want one, so that a reconcile removes it. */
async function makeUnwantedRoute(name: string): Promise<void> {
  const owner = await stage.see.deployment('chat');
  const { apiVersion, kind } = route;
  await stage.kube.create(route, {
    apiVersion,
    kind,
    metadata: buildOwnedMetadata(owner, 'agent', name),
  });
}
const untilRemoved = (name: string, seconds: number): Promise<true> =>
  until(
    `the route ${name} is removed`,
    () => isGone(stage.kube.get(route, { namespace: stage.namespace, name })),
    seconds,
  );

test('the operator works without an optional kind, and finds it within a minute once it is installed', async () => {
  const { kube, namespace, see } = stage;
  const table = {
    ...OPERATOR_KINDS,
    routes: { ...OPERATOR_KINDS.services, kind: route, optional: true },
  };
  const operator = await stage.startOperator({ table });
  for (const name of ['chat', 'short']) await apply(name);
  for (const name of ['chat', 'short']) await see.untilReady(name);
  await kube.delete(kinds.deployment, { namespace, name: 'short' });
  await until('a deployment is deleted', () => isGone(see.deployment('short')));
  expect(await metricOf(operator, 'watch_last_event_age_seconds', route.kind)).toBe(0);

  await kube.create(kinds.customResourceDefinition, definition);
  await until('the kind is installed', () => makeUnwantedRoute('first').then(() => true));
  await untilRemoved('first', 60);
  await makeUnwantedRoute('second');
  await untilRemoved('second', 10);

  await kube.delete(kinds.customResourceDefinition, { name: NAME });
  await until('the kind is gone', () => isGone(kube.listAll(route, { namespace })));
  await apply('later');
  await see.untilReady('later');
  await kube.delete(kinds.deployment, { namespace, name: 'later' });
  await until('a deployment is deleted without the kind', () => isGone(see.deployment('later')));
});
