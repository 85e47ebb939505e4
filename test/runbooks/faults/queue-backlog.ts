import { call } from '../../../dev/run/control-plane.ts';
import { deployCounting, makeRuns } from '../../kit/counting-agent.ts';
import { labelsOf, NAMESPACE, newName, removed, sql, variablesOf } from '../agents.ts';
import type { Fault } from '../fault.ts';

/** Runs of two steps, for which one worker needs more than five minutes. */
const [RUNS, STEP] = [20, 8000];

export const queueBacklog: Fault = {
  name: 'more runs than the workers can take',
  plant: async (scene) => {
    const name = newName('backlog');
    const agent = await deployCounting({ ...scene.system, api: scene.api }, name, {
      resources: { queue_max_scale: 1 },
      secrets: { N_JOBS_PER_WORKER: '1' },
    });
    await makeRuns(agent.client, RUNS, STEP);
    // They came ten minutes ago, and nobody can wait so long.
    await sql(
      scene,
      name,
      `update gx.run set due_at = due_at - interval '10 minutes' where status = 'pending'`,
    );
    return {
      labels: labelsOf(name),
      variables: { ...variablesOf(name), PODS: '4' },
      isCured: async () =>
        (await sql(scene, name, `select count(*) from gx.run where status = 'pending'`)).trim() ===
        '0',
      remove: async () => {
        await call(
          scene.api,
          'DELETE',
          `/v2/deployments/${agent.id}?delete_data=true&delete_tracing_project=true`,
        );
        await removed(scene, name);
        await scene.kubectl('delete', 'configmap', name, '-n', NAMESPACE);
      },
    };
  },
  found: { alert: 'GxRunsWait', seconds: 60 },
  page: { file: 'runs-wait.md', entry: 'all workers are busy' },
  cured: { seconds: 240 },
};
