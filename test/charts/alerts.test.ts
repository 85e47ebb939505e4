import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { globSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { ensureTools } from '../../dev/cluster/parts.ts';
import { CASES, QUIET, type Labels } from './alert-cases.ts';
import { renderer, type KubeYaml, type Renderer } from './render.ts';

/* Alerts of the chart: their form, their pages, and that they fire when they should, by Prometheus' own tool. */

const BUILD = 1_200_000;
const BASE = 'https://docs.example.com/runbooks';
const PRESENT = ['monitoring.coreos.com/v1/PrometheusRule'];

type Rule = {
  alert: string;
  expr: string;
  for?: string;
  labels: Record<string, string>;
  annotations: Record<string, string>;
};
type Rules = { groups: { name: string; rules: Rule[] }[] };

let render: Renderer;
let folder: string;
let promtool: string;
let rules: Rules;

const monitoring = (own: object = {}): object => ({
  monitoring: { runbookBaseUrl: BASE, rules: { enabled: true, ...own } },
});
const ruleIn = (objects: KubeYaml[]): KubeYaml | undefined =>
  objects.find(({ kind }) => kind === 'PrometheusRule');

beforeAll(async () => {
  render = await renderer();
  ({ promtool } = await ensureTools(['promtool']));
  folder = await mkdtemp(path.join(tmpdir(), 'gx-alerts-'));
  rules = ruleIn(await render.chart(monitoring(), PRESENT))!.spec as unknown as Rules;
  await writeFile(path.join(folder, 'rules.json'), JSON.stringify(rules));
}, BUILD);
afterAll(() => rm(folder, { recursive: true, force: true }));

const all = (): Rule[] => rules.groups.flatMap((group) => group.rules);

describe('the rules', () => {
  test('are there when they are asked for, with the labels by which a Prometheus selects them', async () => {
    expect(ruleIn(await render.chart({}, PRESENT))).toBeUndefined();
    const labels = { release: 'prometheus' };
    expect(ruleIn(await render.chart(monitoring({ labels }), PRESENT))?.metadata).toMatchObject({
      namespace: 'gx-system',
      labels,
    });
  });

  test('are refused where their kind is missing, unless the chart is told to make them', async () => {
    await expect(render.chart(monitoring())).rejects.toThrow(
      /monitoring.rules.enabled: this cluster has no PrometheusRule/,
    );
    expect(ruleIn(await render.chart(monitoring({ withoutDefinitions: true })))).toBeDefined();
  });

  test.each([
    ['none', ''],
    ['a path', '/runbooks'],
    ['another scheme', 'ftp://docs.example.com'],
  ])('are refused with an address of pages that is %s', async (_, runbookBaseUrl) => {
    const values = { monitoring: { runbookBaseUrl, rules: { enabled: true } } };
    await expect(render.chart(values, PRESENT)).rejects.toThrow(/runbookBaseUrl/);
  });
});

/** Alerts about the platform itself. */
const PLATFORM = (
  parse(readFileSync('charts/gx-platform/alerts/platform.yaml', 'utf8')) as { alert: string }[]
).map(({ alert }) => alert);

test('each alert says how bad it is, which deployment it is about, and where its page is', () => {
  for (const { alert, labels, annotations } of all()) {
    expect(labels['severity']).toMatch(/^(critical|warning|info)$/);
    const names = PLATFORM.includes(alert)
      ? ''
      : '{{ $labels.namespace }}/{{ $labels.deployment }}';
    expect(annotations['summary']).toContain(names);
    expect(annotations['runbook_url']).toMatch(new RegExp(`^${BASE}/[a-z-]+[.]md$`));
  }
});

test('each alert has its page, each page its alert, and each of them a test', () => {
  const pages = globSync('docs/runbooks/*.md').filter((page) => !page.endsWith('README.md'));
  const named = all().map(
    ({ annotations }) => `docs/runbooks/${annotations['runbook_url']?.split('/').at(-1)}`,
  );
  expect(named.toSorted()).toEqual(pages.toSorted());
  const list = readFileSync('docs/runbooks/README.md', 'utf8');
  for (const { alert, annotations, labels } of all()) {
    const name = annotations['runbook_url']!.split('/').at(-1)!;
    const page = readFileSync(`docs/runbooks/${name}`, 'utf8');
    expect(page).toContain(`Alert \`${alert}\`, severity \`${labels['severity']}\``);
    for (const heading of ['Meaning', 'Impact', 'Where to look', 'Cure'])
      expect(page).toMatch(new RegExp(`^## ${heading}$`, 'm'));
    expect(list).toContain(`(${name}) (\`${alert}\`)`);
  }
  expect(CASES.map(({ alert }) => alert).toSorted()).toEqual(
    all()
      .map(({ alert }) => alert)
      .toSorted(),
  );
});

test('each metric of an alert is one that the pages of metrics name', () => {
  const text = readFileSync('docs/reference/metrics.md', 'utf8');
  for (const { expr } of all())
    for (const [name] of expr.matchAll(/\bgx_[a-z_]+/g))
      expect(text).toContain(`\`${name.replace(/_(count|bucket)$/, '')}\``);
});

test.each(CASES)(
  '$alert fires about those that it is about, and no longer than that',
  async ({ alert, series, at }) => {
    const rule = all().find((one) => one.alert === alert)!;
    const expected = (labels: Labels): object => ({
      exp_labels: { ...labels, ...rule.labels },
      exp_annotations: Object.fromEntries(
        Object.entries(rule.annotations).map(([key, text]) => [key, shown(text, labels)]),
      ),
    });
    const tests = {
      rule_files: ['rules.json'],
      evaluation_interval: '1m',
      tests: [
        {
          interval: '1m',
          input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
          alert_rule_test: Object.entries(at).map(([eval_time, found]) => ({
            eval_time,
            alertname: alert,
            exp_alerts: found.map(expected),
          })),
        },
      ],
    };
    const file = path.join(folder, `${alert}.json`);
    await writeFile(file, JSON.stringify(tests));
    expect((await promisify(execFile)(promtool, ['test', 'rules', file])).stdout).toContain(
      'SUCCESS',
    );
  },
);

/** Returns the text as Prometheus shows it for these labels. */
const shown = (text: string, labels: Labels): string =>
  text.replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, (_, name: string) => labels[name] ?? '');

test('deployments that sleep, hibernate, drain, are tried out or work well fire nothing', async () => {
  const tests = {
    rule_files: ['rules.json'],
    evaluation_interval: '1m',
    tests: [
      {
        interval: '1m',
        input_series: Object.entries(QUIET).map(([name, values]) => ({ series: name, values })),
        alert_rule_test: all().flatMap(({ alert }) =>
          ['5m', '1h', '3h'].map((eval_time) => ({ eval_time, alertname: alert, exp_alerts: [] })),
        ),
      },
    ],
  };
  const file = path.join(folder, 'quiet.json');
  await writeFile(file, JSON.stringify(tests));
  expect((await promisify(execFile)(promtool, ['test', 'rules', file])).stdout).toContain(
    'SUCCESS',
  );
});

test.each([
  ['30s', ['30s']],
  ['5m', ['1m', '2m', '5m']],
])('a value shortens each time that an alert waits: %s', async (longestFor, times) => {
  const shorter = ruleIn(await render.chart(monitoring({ longestFor }), PRESENT))!
    .spec as unknown as Rules;
  const waits = shorter.groups.flatMap((group) => group.rules.flatMap((rule) => rule.for ?? []));
  expect([...new Set(waits)].toSorted()).toEqual(times);
  expect(waits).toHaveLength(all().filter((rule) => rule.for !== undefined).length);
});

test('Prometheus takes all of them, and the files of the chart have nothing that no rule shows', async () => {
  await promisify(execFile)(promtool, [
    'check',
    'rules',
    '--lint=all',
    '--lint-fatal',
    path.join(folder, 'rules.json'),
  ]);
  const files = globSync('charts/gx-platform/alerts/*.yaml').flatMap(
    (file) => parse(readFileSync(file, 'utf8')) as object[],
  );
  const known = ['alert', 'severity', 'expr', 'for', 'summary', 'description', 'page'];
  expect(files).toHaveLength(all().length);
  for (const alert of files)
    expect(Object.keys(alert).filter((key) => !known.includes(key))).toEqual([]);
});
