import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { kinds } from '../../../src/kube/kinds.ts';
import type { Kind, KubeObject } from '../../../src/kube/kube.ts';
import { startApiServer, type ApiServer } from '../../kit/api-server.ts';
import { folderOfModule } from '../../kit/go-module.ts';
import { openStage, type Stage } from '../../kit/stage.ts';
import { until } from '../../kit/until.ts';
import { renderer } from '../render.ts';

/*
 * The definitions of the Prometheus operator take the chart's monitors and rules as they are. The API server is the
 * test's own, because it gets these definitions.
 */

const MODULE = 'github.com/prometheus-operator/prometheus-operator@v0.85.0';
const FOLDER = 'example/prometheus-operator-crd';
const GROUP = 'monitoring.coreos.com';
const KINDS = ['PodMonitor', 'PrometheusRule'];

const kindOf = (kind: string): Kind => ({
  apiVersion: `${GROUP}/v1`,
  kind,
  plural: `${kind.toLowerCase()}s`,
  namespaced: true,
});

let server: ApiServer;
let stage: Stage;
beforeAll(async () => {
  server = await startApiServer({ controllers: false });
  stage = await openStage('monitoring', server.kubeconfig);
  const folder = join(await folderOfModule(MODULE), FOLDER);
  for (const kind of KINDS) {
    const text = await readFile(join(folder, `${GROUP}_${kind.toLowerCase()}s.yaml`), 'utf8');
    await stage.kube.create(kinds.customResourceDefinition, parse(text) as KubeObject);
    await until(`${kind} is there`, () =>
      stage.kube.listAll(kindOf(kind), { namespace: stage.namespace }).then(() => true),
    );
  }
}, 600_000);
afterAll(async () => {
  await stage.stop();
  await server.stop();
});

test('every monitor and rule is stored with all of its fields', async () => {
  const { kube, namespace } = stage;
  const render = await renderer();
  const values = {
    controlPlane: { tls: { secretName: 'tls' } },
    monitoring: {
      enabled: true,
      runbookBaseUrl: 'https://docs.example.com',
      rules: { longestFor: '30s' },
    },
  };
  const objects = await render.chart(
    values,
    KINDS.map((kind) => `${GROUP}/v1/${kind}`),
  );
  const made = objects.filter(({ apiVersion }) => apiVersion.startsWith(GROUP));
  expect(made.map(({ kind }) => kind).toSorted()).toEqual([
    ...Array.from({ length: 5 }, () => 'PodMonitor'),
    'PrometheusRule',
  ]);
  for (const { apiVersion, kind, metadata, spec } of made) {
    const stored = await kube.create(kindOf(kind), {
      apiVersion,
      kind,
      metadata: { ...metadata, namespace },
      spec,
    });
    expect(stored.spec).toMatchObject(spec!);
  }
});
