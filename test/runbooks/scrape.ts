import type { KubeYaml } from '../charts/render.ts';

/* A PodMonitor of the chart, as the Prometheus operator writes it for Prometheus. */

type Relabeling = {
  sourceLabels?: string[];
  targetLabel?: string;
  action?: string;
  regex?: string;
};
type MonitorSpec = {
  namespaceSelector?: { matchNames?: string[] };
  selector: {
    matchLabels?: Record<string, string>;
    matchExpressions?: { key: string; values: string[] }[];
  };
  podMetricsEndpoints: {
    port: string;
    path: string;
    honorLabels?: boolean;
    relabelings?: Relabeling[];
    metricRelabelings?: Relabeling[];
  }[];
};

const META = '__meta_kubernetes_pod';
const labelOf = (key: string): string => `${META}_label_${key.replaceAll(/[^a-zA-Z0-9]/g, '_')}`;
const keep = (label: string, values: string[]): object => ({
  source_labels: [label],
  regex: values.join('|'),
  action: 'keep',
});

const relabeled = ({ sourceLabels, targetLabel, ...rest }: Relabeling): object => ({
  ...rest,
  ...(sourceLabels && { source_labels: sourceLabels }),
  ...(targetLabel && { target_label: targetLabel }),
});

/** Returns how Prometheus finds the pods of a monitor, and reads them. */
export function scrapeOf({ metadata, spec }: KubeYaml, kubeconfig: string): object {
  const { namespaceSelector, selector, podMetricsEndpoints } = spec as unknown as MonitorSpec;
  const {
    port,
    path,
    honorLabels = false,
    relabelings = [],
    metricRelabelings = [],
  } = podMetricsEndpoints[0]!;
  const { matchLabels = {}, matchExpressions = [] } = selector;
  return {
    job_name: metadata.name,
    metrics_path: path,
    honor_labels: honorLabels,
    kubernetes_sd_configs: [
      {
        role: 'pod',
        kubeconfig_file: kubeconfig,
        namespaces: { names: namespaceSelector?.matchNames ?? [metadata.namespace] },
      },
    ],
    relabel_configs: [
      ...Object.entries(matchLabels).map(([key, text]) => keep(labelOf(key), [text])),
      ...matchExpressions.map(({ key, values }) => keep(labelOf(key), values)),
      keep(`${META}_container_port_name`, [port]),
      { source_labels: [`${META}_phase`], regex: 'Succeeded|Failed', action: 'drop' },
      { source_labels: ['__meta_kubernetes_namespace'], target_label: 'namespace' },
      { source_labels: [`${META}_name`], target_label: 'pod' },
      ...relabelings.map(relabeled),
    ],
    metric_relabel_configs: metricRelabelings.map(relabeled),
  };
}
