import { call } from '../../../dev/run/control-plane.ts';
import { deployCounting, makeRuns } from '../../kit/counting-agent.ts';
import { labelsOf, newName, variablesOf } from '../agents.ts';
import type { Fault, Scene } from '../fault.ts';

const PORT = 4318;
/** Takes everything. */
const SERVER = `require('node:http').createServer((request, response) => request.resume().on('end', () => response.end('{}'))).listen(${PORT})`;

/** Puts a collector into a namespace of its own. It has no pods. */
async function putCollector({ kubectl, system }: Scene, name: string): Promise<void> {
  const labels = { app: name };
  const container = { name: 'collector', image: system.image, command: ['node', '-e', SERVER] };
  await kubectl('create', 'namespace', name);
  await kubectl.apply({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: name },
    spec: {
      replicas: 0,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { terminationGracePeriodSeconds: 0, containers: [container] },
      },
    },
  });
  await kubectl.apply({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace: name },
    spec: { selector: labels, ports: [{ port: PORT }] },
  });
}

export const collectorAway: Fault = {
  name: 'a collector without pods',
  plant: async (scene) => {
    const { api, kubectl, system, watcher } = scene;
    const [name, collector] = [newName('traced'), newName('collector')];
    await putCollector(scene, collector);
    const endpoint = `http://${collector}.${collector}.svc.cluster.local:${PORT}`;
    const agent = await deployCounting({ ...system, api }, name, {
      secrets: { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint },
    });
    await makeRuns(agent.client, 2, 1);
    const exported = (): Promise<number | undefined> =>
      watcher.value(`sum(gx_api_spans_sent_total{deployment="${name}"})`);
    const before = (await exported()) ?? 0;
    return {
      labels: labelsOf(name),
      variables: { ...variablesOf(name), COLLECTOR_NAMESPACE: collector, COLLECTOR: collector },
      isCured: async () => {
        await makeRuns(agent.client, 1, 1);
        return ((await exported()) ?? 0) > before;
      },
      remove: async () => {
        await call(
          api,
          'DELETE',
          `/v2/deployments/${agent.id}?delete_data=true&delete_tracing_project=true`,
        );
        await kubectl('delete', 'namespace', collector, '--wait=false');
      },
    };
  },
  found: { alert: 'GxCollectorAway', seconds: 120 },
  page: { file: 'collector-away.md', entry: 'it must have pods' },
  cured: { seconds: 90, alertLasts: true },
};
