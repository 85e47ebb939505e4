import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { ensureTools } from '../../dev/cluster/parts.ts';
import { renderer, type KubeYaml } from '../charts/render.ts';
import type { SystemUnderTest } from '../kit/cluster-global.ts';
import { until } from '../kit/until.ts';
import { innerProcessOf } from './node.ts';
import { scrapeOf } from './scrape.ts';

/* A real Prometheus on the node of the native cluster, with the monitors and the alerts of the chart. */

const KINDS = ['PrometheusRule', 'PodMonitor'];
const PORT = 9090;
export const RUNBOOKS = 'https://docs.example.com/runbooks';

type Labels = Record<string, string>;
export type Alert = { labels: Labels; annotations: Labels; state: 'pending' | 'firing' };

export type Watcher = {
  /** Returns the alerts that fire, with this name and these labels. */
  firing(name?: string, labels?: Labels): Promise<Alert[]>;
  /** Returns the value of a query, or undefined if it has none. */
  value(query: string): Promise<number | undefined>;
  stop(): Promise<void>;
};

/** Returns the monitors and the rules of the chart. No alert waits for longer than `longestFor`. */
async function monitoring(longestFor: string): Promise<{ monitors: KubeYaml[]; rules: object }> {
  const values = {
    monitoring: {
      runbookBaseUrl: RUNBOOKS,
      monitors: { enabled: true },
      rules: { enabled: true, longestFor },
    },
  };
  const apis = KINDS.map((kind) => `monitoring.coreos.com/v1/${kind}`);
  const objects = await (await renderer()).chart(values, apis);
  const [rules] = objects.filter(({ kind }) => kind === 'PrometheusRule');
  return {
    monitors: objects.filter(({ kind }) => kind === 'PodMonitor'),
    rules: rules?.spec ?? {},
  };
}

/** Watches the pods of the platform and of its agents, as the chart asks for it. */
export async function watchPods(system: SystemUnderTest, longestFor = '10s'): Promise<Watcher> {
  const { prometheus } = await ensureTools(['prometheus']);
  const { monitors, rules } = await monitoring(longestFor);
  const folder = await mkdtemp(path.join(tmpdir(), 'gx-watcher-'));
  const config = {
    global: { scrape_interval: '2s', scrape_timeout: '2s', evaluation_interval: '1s' },
    rule_files: ['rules.json'],
    scrape_configs: monitors.map((monitor) => scrapeOf(monitor, system.kubeconfig)),
  };
  await writeFile(path.join(folder, 'rules.json'), JSON.stringify(rules));
  await writeFile(path.join(folder, 'prometheus.yml'), JSON.stringify(config));
  // The node reaches every pod, so no policy has to let it in.
  const onNode = ['--target', String(innerProcessOf(system.name)), '--net', prometheus];
  const options = [
    `--config.file=${folder}/prometheus.yml`,
    `--storage.tsdb.path=${folder}/data`,
    `--web.listen-address=:${PORT}`,
  ];
  // A proxy of this machine leads to nothing on the node.
  const server = spawn('nsenter', [...onNode, ...options], {
    stdio: 'ignore',
    env: { PATH: process.env['PATH'] },
  });
  const url = `http://${new URL(system.controlPlane).hostname}:${PORT}`;
  const asked = async <T>(question: string): Promise<T> =>
    ((await (await fetch(`${url}/api/v1/${question}`)).json()) as { data: T }).data;
  const value = async (query: string): Promise<number | undefined> => {
    const { result } = await asked<{ result: { value: [number, string] }[] }>(
      `query?query=${encodeURIComponent(query)}`,
    );
    return result[0] && Number(result[0].value[1]);
  };
  await until(
    'Prometheus has read the operator',
    async () => (await value('sum(up{job="gx-operator"})')) === 1,
  );
  return {
    firing: async (name, labels = {}) => {
      const { alerts } = await asked<{ alerts: Alert[] }>('alerts');
      const wanted = Object.entries(name === undefined ? labels : { ...labels, alertname: name });
      return alerts.filter(
        ({ state, labels: own }) =>
          state === 'firing' && wanted.every(([key, text]) => own[key] === text),
      );
    },
    value,
    stop: async () => {
      const ended = once(server, 'exit');
      server.kill('SIGKILL');
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
