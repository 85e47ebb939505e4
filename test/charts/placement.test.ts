import { expect, test } from 'vitest';
import { readOperatorConfig } from '../../src/config/platform/operator.ts';
import { idOf, renderer, type KubeYaml } from './render.ts';

function environment(objects: KubeYaml[]): Record<string, string> {
  const operator = objects.find((object) => idOf(object) === 'Deployment/gx-system/gx-operator');
  const variables = operator?.spec?.template?.spec.containers[0]?.env ?? [];
  return Object.fromEntries(
    variables.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]])),
  );
}

test('the places of agents, databases, stores and builds reach the operator, each its own', async () => {
  const render = await renderer();
  const on = (pool: string) => ({
    nodeSelector: { pool },
    tolerations: [{ key: pool, operator: 'Exists' }],
    affinity: { nodeAffinity: {} },
    priorityClassName: pool,
    runtimeClassName: pool,
  });
  const spread = {
    topologySpreadConstraints: [
      { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'ScheduleAnyway' },
    ],
  };
  const placement = {
    agents: { ...on('agents'), ...spread },
    databases: on('databases'),
    stores: on('stores'),
    builds: on('builds'),
  };
  const env = environment(await render.chart({ settings: { placement } }));
  expect(readOperatorConfig(env).settings.placement).toEqual(placement);
  expect(environment(await render.chart())).not.toHaveProperty('GX_PLACEMENT');
  // A database is one pod, so there is nothing to spread.
  await expect(render.chart({ settings: { placement: { databases: spread } } })).rejects.toThrow(
    /topologySpreadConstraints/,
  );
}, 1_200_000);
