import { execFile } from 'node:child_process';
import { text } from 'node:stream/consumers';
import type { SyntaxNode } from '@lezer/common';
import { parser } from '@prometheus-io/lezer-promql';
import { beforeAll, describe, expect, test } from 'vitest';
import { ensureTools } from '../../dev/cluster/parts.ts';
import { METRICS_PORT_NAME } from '../../src/schema/names.ts';
import { METRICS_PORT } from '../../src/schema/platform/objects/labels.ts';
import { OperatorMetrics } from '../../src/operator/kernel/metrics.ts';
import { exportObjects } from '../../src/operator/series/export-objects.ts';
import { createCaches } from '../../src/operator/view/caches.ts';
import { labelsOfSeries } from '../kit/metric-names.ts';
import { deployment } from '../kit/objects.ts';
import { printed } from '../kit/operator.ts';
import { idOf, renderer, type KubeYaml, type Renderer } from './render.ts';

/* Monitors and dashboards of the chart, and that every query asks for metrics and labels that the processes have. */

const BASE = 'https://docs.example.com/runbooks';
const PRESENT = ['monitoring.coreos.com/v1/PrometheusRule', 'monitoring.coreos.com/v1/PodMonitor'];

let render: Renderer;
beforeAll(async () => {
  render = await renderer();
}, 1_200_000);

const made = async (monitoring: object, apis = PRESENT, more: object = {}): Promise<KubeYaml[]> => {
  const objects = await render.chart({ ...more, monitoring }, apis);
  return objects.filter(
    ({ metadata }) => metadata.labels?.['app.kubernetes.io/component'] === 'monitoring',
  );
};
const kindsOf = (objects: KubeYaml[]): string[] =>
  [...new Set(objects.map(({ kind }) => kind))].toSorted();

describe('the monitoring', () => {
  test('is off, and one value turns on all of it', async () => {
    expect(await made({})).toEqual([]);
    expect(kindsOf(await made({ enabled: true, runbookBaseUrl: BASE }))).toEqual([
      'ConfigMap',
      'PodMonitor',
      'PrometheusRule',
    ]);
  });

  test.each([
    ['monitors', 'PodMonitor'],
    ['rules', 'PrometheusRule'],
    ['dashboards', 'ConfigMap'],
  ])('has %s alone, too, with the labels by which they are selected', async (part, kind) => {
    const objects = await made({
      runbookBaseUrl: BASE,
      [part]: { enabled: true, labels: { release: 'prometheus' } },
    });
    expect(kindsOf(objects)).toEqual([kind]);
    for (const { metadata } of objects)
      expect(metadata.labels).toMatchObject({ release: 'prometheus' });
  });

  test.each([
    ['monitoring.enabled', { enabled: true }],
    ['monitoring.monitors.enabled', { monitors: { enabled: true } }],
    ['monitoring.rules.enabled', { rules: { enabled: true } }],
  ])(
    'asks by %s for kinds that the cluster has, or says which are missing',
    async (value, given) => {
      const refused = new RegExp(
        `${value}: this cluster has no P\\w+ [(]monitoring.coreos.com/v1[)]. Install a Prometheus operator first`,
      );
      await expect(made({ runbookBaseUrl: BASE, ...given }, [])).rejects.toThrow(refused);
    },
  );

  test('is made without looking where the chart is told to', async () => {
    const blind = { monitors: { withoutDefinitions: true }, rules: { withoutDefinitions: true } };
    expect(kindsOf(await made({ enabled: true, runbookBaseUrl: BASE, ...blind }, []))).toHaveLength(
      3,
    );
  });
});

describe('monitors', () => {
  type Endpoint = { port: string; path: string; scheme?: string; honorLabels?: boolean };
  const endpointOf = ({ spec }: KubeYaml): Endpoint =>
    (spec!['podMetricsEndpoints'] as Endpoint[])[0]!;

  test('ask each process at the port that its pods name', async () => {
    const objects = await render.chart({ monitoring: { monitors: { enabled: true } } }, PRESENT);
    const monitors = objects.filter(({ kind }) => kind === 'PodMonitor');
    expect(monitors.map(idOf)).toEqual(
      ['console', 'control-plane', 'gateway', 'operator', 'agents'].map(
        (name) => `PodMonitor/gx-system/gx-${name}`,
      ),
    );
    for (const monitor of monitors.slice(0, 4)) {
      const workload = objects.find(
        ({ kind, metadata }) => kind === 'Deployment' && metadata.name === monitor.metadata.name,
      )!;
      const ports = workload.spec!.template!.spec.containers.flatMap(
        (container) => container['ports'] as { name: string }[],
      );
      expect(ports.map(({ name }) => name)).toContain(endpointOf(monitor).port);
      const { matchLabels } = monitor.spec!['selector'] as { matchLabels: object };
      expect((workload.spec!['selector'] as { matchLabels: object }).matchLabels).toEqual(
        matchLabels,
      );
      expect(endpointOf(monitor)).toMatchObject({ path: '/metrics', honorLabels: true });
    }
  });

  test('ask agents where the platform works, and believe the pod about whose it is', async () => {
    const agents = async (more: object): Promise<KubeYaml> =>
      (await made({ monitors: { enabled: true } }, PRESENT, more)).find(
        ({ metadata }) => metadata.name === 'gx-agents',
      )!;
    expect((await agents({})).spec).toMatchObject({
      namespaceSelector: { matchNames: ['gx-agents'] },
    });
    const everywhere = await agents({ watchAllNamespaces: true });
    expect(everywhere.spec).toMatchObject({ namespaceSelector: { any: true } });
    expect(endpointOf(everywhere)).not.toHaveProperty('honorLabels');
  });

  test('ask pods of agents that a former release has made at their API, and new ones too where they run its server', async () => {
    const endpoints = async (monitors: object) => {
      const found = (await made({ monitors: { enabled: true, ...monitors } })).find(
        ({ metadata }) => metadata.name === 'gx-agents',
      )!;
      return found.spec!['podMetricsEndpoints'] as {
        port: string;
        relabelings: { action?: string; sourceLabels: string[] }[];
      }[];
    };
    const usual = await endpoints({});
    expect(usual.map(({ port }) => port)).toEqual([METRICS_PORT_NAME, 'http']);
    expect(
      usual.map(({ relabelings }) =>
        relabelings.filter(({ action }) => action === 'drop').flatMap((one) => one.sourceLabels),
      ),
    ).toEqual([
      [],
      [`__meta_kubernetes_pod_annotationpresent_${METRICS_PORT.replaceAll(/[./-]/g, '_')}`],
    ]);
    const both = await endpoints({ formerAgents: true });
    expect(both.map(({ relabelings }) => relabelings.length)).toEqual([1, 1]);
  });

  test('ask the control plane in plain HTTP whatever its API speaks, and leave out what is not installed', async () => {
    const more = {
      controlPlane: { tls: { secretName: 'tls' } },
      console: { enabled: false },
      gateway: { enabled: false },
    };
    const monitors = await made({ monitors: { enabled: true } }, PRESENT, more);
    expect(monitors.map(({ metadata }) => metadata.name)).toEqual([
      'gx-control-plane',
      'gx-operator',
      'gx-agents',
    ]);
    expect(endpointOf(monitors[0]!)).toMatchObject({ port: 'health' });
    expect(endpointOf(monitors[0]!)).not.toHaveProperty('scheme');
  });
});

test("the series of objects are text that Prometheus' own tool reads", async () => {
  const [caches, metrics] = [createCaches(), new OperatorMetrics()];
  exportObjects(metrics, caches);
  const conditions = [
    {
      type: 'Ready',
      status: 'False',
      reason: 'a"b\\c',
      message: '',
      lastTransitionTime: '2026-11-01T00:00:00Z',
    } as const,
  ];
  const status = { conditions, databaseCertificateUntil: '2027-01-01T00:00:00Z' };
  for (const name of ['one', 'two'])
    caches.deployments.addIfNewer(deployment({ metadata: { name, resourceVersion: '1' }, status }));
  const { promtool } = await ensureTools(['promtool']);
  const checked = execFile(promtool, ['check', 'metrics']);
  checked.stdin!.end(await printed(metrics));
  const problems = (await text(checked.stderr!)).split('\n').filter((line) => line !== '');
  // The library's own metrics of Node have names that the tool does not like.
  expect(problems.filter((line) => !line.startsWith('nodejs_'))).toEqual([]);
}, 600_000);

/** Returns the names of series that a query asks for, each with the labels by which it selects or groups. */
function askedBy(query: string): { series: Set<string>; labels: Set<string>; faults: number } {
  const asked = { series: new Set<string>(), labels: new Set<string>(), faults: 0 };
  const textOf = ({ from, to }: SyntaxNode): string => query.slice(from, to);
  parser.parse(query).iterate({
    enter: ({ type, node }) => {
      if (type.isError) asked.faults += 1;
      if (type.name === 'Identifier' && node.parent?.name === 'VectorSelector')
        asked.series.add(textOf(node));
      if (type.name === 'LabelName') asked.labels.add(textOf(node));
    },
  });
  return asked;
}

type Panel = {
  title: string;
  description: string;
  targets: { expr: string; legendFormat: string }[];
};
type Dashboard = {
  uid: string;
  title: string;
  panels: Panel[];
  templating: { list: { name: string; query: string }[] };
};

describe('queries', () => {
  let queries: { of: string; expr: string; legend?: string }[];
  beforeAll(async () => {
    const objects = await made({ enabled: true, runbookBaseUrl: BASE });
    const dashboards = objects
      .filter(({ kind }) => kind === 'ConfigMap')
      .map(
        (map) => JSON.parse(Object.values(map['data'] as Record<string, string>)[0]!) as Dashboard,
      );
    const panels = dashboards.flatMap(({ title, panels: all }) =>
      all.flatMap((panel) =>
        panel.targets.map(({ expr, legendFormat }) => ({
          of: `${title}: ${panel.title}`,
          expr,
          legend: legendFormat,
        })),
      ),
    );
    const variables = dashboards.flatMap(({ title, templating }) =>
      templating.list.flatMap(({ name, query }) => {
        const [, expr, label] = /^label_values[(](.+), (\w+)[)]$/.exec(query) ?? [];
        return expr === undefined
          ? []
          : [{ of: `${title}: ${name}`, expr, legend: `{{${label}}}` }];
      }),
    );
    const rules = objects.find(({ kind }) => kind === 'PrometheusRule')!.spec as unknown as {
      groups: { rules: { alert: string; expr: string }[] }[];
    };
    const alerts = rules.groups.flatMap((group) =>
      group.rules.map(({ alert, expr }) => ({ of: alert, expr })),
    );
    queries = [...panels, ...variables, ...alerts];
  });

  test('are there, for dashboards and alerts', () => {
    expect(queries.length).toBeGreaterThan(60);
  });

  test('are PromQL', () => {
    expect(queries.filter(({ expr }) => askedBy(expr).faults > 0)).toEqual([]);
    expect(askedBy('sum(rate(broken[5m])').faults).toBeGreaterThan(0);
  });

  test('ask for metrics and labels that the processes export', () => {
    const unknown = queries.flatMap(({ of, expr, legend = '' }) => {
      const { series, labels } = askedBy(expr);
      for (const [, label] of legend.matchAll(/\{\{(\w+)\}\}/g)) labels.add(label!);
      const known = new Set([...series].flatMap((one) => [...(labelsOfSeries(one) ?? [])]));
      const missing = [...series].filter((one) => labelsOfSeries(one) === undefined);
      const extra = [...labels].filter((label) => !known.has(label));
      return missing.length + extra.length === 0 ? [] : [{ of, missing, extra }];
    });
    expect(unknown).toEqual([]);
  });

  test('that are wrong are found', () => {
    expect(labelsOfSeries('gx_api_made_up_total')).toBeUndefined();
    expect([...askedBy('sum by (colour) (gx_revisions{phase="BUILDING"})').labels]).toEqual([
      'colour',
      'phase',
    ]);
    expect(labelsOfSeries('gx_revisions')!.has('colour')).toBe(false);
  });
});
