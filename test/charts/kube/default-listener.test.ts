import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { ensureTools } from '../../../dev/cluster/parts.ts';
import { DEFAULT_TENANT_ID } from '../../../src/config/platform/control-plane.ts';
import { kinds } from '../../../src/kube/kinds.ts';
import type { Kube, KubeObject } from '../../../src/kube/kube.ts';
import { API_VERSION } from '../../../src/schema/platform/objects/api-group.ts';
import { openStage, type Stage } from '../../kit/stage.ts';

/* The default Listener of the chart on a real API server: clients keep its id, so it must outlive upgrades. */
const run = promisify(execFile);
const root = join(import.meta.dirname, '..', '..', '..');
const CHART = 'charts/gx-platform';

let helm: string;
let stage: Stage;
beforeAll(async () => {
  helm = (await ensureTools(['helm'])).helm ?? '';
}, 1_200_000);

const values = (given: { listener?: boolean; namespaces: string[] }): string[] => [
  '--set=images.registry=registry.example.com/me',
  '--set=crds.install=false',
  `--set=agents.listener.create=${given.listener ?? true}`,
  `--set=agents.namespaces={${given.namespaces.join(',')}}`,
];
const helmed = async (...args: string[]): Promise<string> => {
  const { stdout } = await run(
    helm,
    [...args, '--namespace', stage.namespace, '--kubeconfig', stage.kubeconfig],
    { cwd: root },
  );
  return stdout;
};
const listener = () =>
  stage.kube.get(kinds.listener, { namespace: stage.namespace, name: 'default' });
const uidAndPlaces = async (): Promise<[string | undefined, string[]]> => {
  const { metadata, spec } = await listener();
  return [metadata.uid, spec.namespaces];
};
const places = (): [string, string] => [`${stage.namespace}-a`, `${stage.namespace}-b`];

describe('by Helm', () => {
  beforeAll(async () => {
    stage = await openStage('helm');
  });
  afterAll(() => stage.stop());

  test('it keeps its id through upgrades, follows the namespaces of agents, and stays when the release goes', async () => {
    const [a, b] = places();
    await helmed('install', 'gx', CHART, ...values({ namespaces: [a] }));
    const [uid, first] = await uidAndPlaces();
    expect(first).toEqual([a]);
    await helmed('upgrade', 'gx', CHART, ...values({ namespaces: [a, b] }));
    expect(await uidAndPlaces()).toEqual([uid, [a, b]]);
    await helmed('uninstall', 'gx');
    expect(await uidAndPlaces()).toEqual([uid, [a, b]]);
    await helmed('install', 'gx', CHART, ...values({ namespaces: [b] }));
    expect(await uidAndPlaces()).toEqual([uid, [b]]);
    await helmed('uninstall', 'gx');
  });

  test("one that is no release's stays as it is, until the release is to have it", async () => {
    const [a, b] = places();
    const { metadata } = await listener();
    await stage.kube.delete(
      kinds.listener,
      { namespace: stage.namespace, name: 'default' },
      { uid: metadata.uid ?? '' },
    );
    await helmed('install', 'gx', CHART, ...values({ listener: false, namespaces: [a] }));
    const made = await stage.kube.create(kinds.listener, {
      apiVersion: API_VERSION,
      kind: 'Listener',
      metadata: {
        name: 'default',
        namespace: stage.namespace,
        labels: { 'app.kubernetes.io/managed-by': 'Helm' },
      },
      spec: { tenantId: DEFAULT_TENANT_ID, computeId: 'default', namespaces: [a] },
    });
    const notes = await helmed('upgrade', 'gx', CHART, ...values({ namespaces: [a, b] }));
    expect(await uidAndPlaces()).toEqual([made.metadata.uid, [a]]);
    expect(notes).toContain('annotate gxl default meta.helm.sh/release-name=gx');
    const owner = {
      'meta.helm.sh/release-name': 'gx',
      'meta.helm.sh/release-namespace': stage.namespace,
    };
    await stage.kube.patchJson(kinds.listener, { namespace: stage.namespace, name: 'default' }, [
      { op: 'replace', path: '/metadata/annotations', value: owner },
    ]);
    await helmed('upgrade', 'gx', CHART, ...values({ namespaces: [a, b] }));
    expect(await uidAndPlaces()).toEqual([made.metadata.uid, [a, b]]);
    await helmed('uninstall', 'gx');
  });
});

describe('by Argo CD', () => {
  beforeAll(async () => {
    stage = await openStage('argo');
  });
  afterAll(() => stage.stop());

  /**
   * Does what Argo CD documents of a sync: renders without a cluster, applies plain objects on the server, and then
   * runs what Helm calls post-install and post-upgrade hooks, each deleted before it is created (BeforeHookCreation).
   */
  async function sync(kube: Kube, namespaces: string[]): Promise<void> {
    const args = [
      'template',
      'gx',
      CHART,
      '--namespace',
      stage.namespace,
      ...values({ namespaces }),
    ];
    const { stdout } = await run(helm, args, { cwd: root, maxBuffer: 64 * 1024 * 1024 });
    const objects = parseAllDocuments(stdout).map(
      (document) => document.toJS() as KubeObject | null,
    );
    const listeners = objects
      .filter((object) => object !== null)
      .filter(({ kind }) => kind === 'Listener');
    const isHook = ({ metadata }: KubeObject): boolean =>
      /post-(install|upgrade)/.test(metadata.annotations?.['helm.sh/hook'] ?? '');
    for (const object of listeners.filter((plain) => !isHook(plain)))
      await kube.apply(kinds.listener, object as never);
    for (const object of listeners.filter(isHook)) {
      await kube.delete(kinds.listener, { namespace: stage.namespace, name: object.metadata.name });
      await kube.create(kinds.listener, object as never);
    }
  }

  test('it keeps its id through syncs, and follows the namespaces of agents', async () => {
    const [a, b] = places();
    await sync(stage.kube, [a]);
    const [uid, first] = await uidAndPlaces();
    expect(first).toEqual([a]);
    await sync(stage.kube, [a]);
    expect(await uidAndPlaces()).toEqual([uid, [a]]);
    await sync(stage.kube, [a, b]);
    expect(await uidAndPlaces()).toEqual([uid, [a, b]]);
  });
});
