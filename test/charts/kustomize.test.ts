import { beforeAll, describe, expect, test } from 'vitest';
import { idOf, renderer, type KubeYaml, type Renderer } from './render.ts';

const BUILD = 1_200_000;
/** Labels and annotations that only say how an object came into the cluster. */
const HOW_INSTALLED = [
  'helm.sh/chart',
  'app.kubernetes.io/managed-by',
  'app.kubernetes.io/version',
];

let render: Renderer;

beforeAll(async () => {
  render = await renderer();
}, BUILD);

async function both(
  folder: string,
  values: object,
): Promise<{ chart: KubeYaml[]; tree: KubeYaml[] }> {
  const [chart, ...parts] = await Promise.all([
    render.chart(values),
    render.kustomize(folder),
    render.kustomize('config/listener'),
  ]);
  return { chart, tree: parts.flat() };
}

/**
 * Returns the object without traces of its installation. Helm leaves labels and annotations, and kustomize leaves none.
 */
function plain({ metadata, ...rest }: KubeYaml): object {
  const { labels = {}, annotations = {}, ...others } = metadata;
  const kept = Object.entries(labels).filter(([key]) => !HOW_INSTALLED.includes(key));
  const notHelm = Object.entries(annotations).filter(([key]) => !key.startsWith('helm.sh/'));
  return {
    ...rest,
    metadata: {
      ...others,
      labels: Object.fromEntries(kept),
      annotations: Object.fromEntries(notHelm),
    },
  };
}

const byId = (objects: KubeYaml[]): Record<string, object> =>
  Object.fromEntries(
    objects
      .toSorted((a, b) => (idOf(a) < idOf(b) ? -1 : 1))
      .map((object) => [idOf(object), plain(object)]),
  );

describe.each([
  ['config/default', {}],
  ['config/all-namespaces', { watchAllNamespaces: true }],
])('%s', (folder, values) => {
  test('has the objects of the chart, and beside them only the namespace that Helm makes by --create-namespace', async () => {
    const { chart, tree } = await both(folder, values);
    const ids = (objects: KubeYaml[]) => objects.map(idOf).toSorted();
    expect(ids(tree).filter((id) => id !== 'Namespace/gx-system')).toEqual(ids(chart));
  });

  test('each of them is the same', async () => {
    const { chart, tree } = await both(folder, values);
    const { 'Namespace/gx-system': own, ...rest } = byId(tree);
    expect(own).toBeDefined();
    expect(rest).toEqual(byId(chart));
  });
});

test('the samples are resources of ours, and Secrets that they name', async () => {
  const samples = await render.kustomize('config/samples');
  expect(new Set(samples.map(({ apiVersion }) => apiVersion))).toEqual(
    new Set(['gx.dev/v1alpha1', 'v1']),
  );
  expect(samples.map(({ kind }) => kind).toSorted()).toEqual([
    'Deployment',
    'Deployment',
    'Listener',
    'Secret',
  ]);
});
