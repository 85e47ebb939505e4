import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parseAllDocuments } from 'yaml';
import { ensureTools } from '../../dev/cluster/parts.ts';
import { NO_REGISTRY } from '../../dev/images/registry.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..', '..');

type Rule = { apiGroups: string[]; resources: string[]; verbs: string[]; resourceNames?: string[] };
export type PodSpec = {
  serviceAccountName?: string;
  securityContext?: Record<string, unknown>;
  containers: {
    name: string;
    image: string;
    command?: string[];
    args?: string[];
    env: { name: string; value?: string }[];
    [field: string]: unknown;
  }[];
  [field: string]: unknown;
};
export type KubeYaml = {
  apiVersion: string;
  kind: string;
  metadata: {
    name: string;
    namespace?: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
  };
  rules?: Rule[];
  spec?: { template?: { spec: PodSpec }; [field: string]: unknown };
  [field: string]: unknown;
};

export type Renderer = {
  /** Renders the chart with these values, as release gx in gx-system, for a cluster that has these APIs, too. */
  chart(values?: object, apis?: string[]): Promise<KubeYaml[]>;
  /** Renders what `helm test` starts. */
  tests(values?: object): Promise<KubeYaml[]>;
  /** Renders what an installation says at its end. */
  notes(values?: object): Promise<string>;
  /** Checks the chart with these values, and fails for each warning. Returns what Helm says. */
  lint(values?: object): Promise<string>;
  kustomize(folder: string): Promise<KubeYaml[]>;
};

/** Helm and kubectl as people run them. They are built on first use where the machine has neither in the cache. */
export async function renderer(): Promise<Renderer> {
  const { helm, kubectl } = await ensureTools(['helm', 'kubectl']);
  const output = async (file: string, args: string[], input = '') => {
    const running = run(file, args, { cwd: root, maxBuffer: 64 * 1024 * 1024 });
    running.child.stdin?.on('error', () => {}).end(input);
    return (await running).stdout;
  };
  const render = async (file: string, args: string[], input = '') =>
    objectsIn(await output(file, args, input));
  return {
    chart: (values = {}, apis = []) => {
      const flags = apis.flatMap((api) => ['--api-versions', api]);
      return render(
        helm,
        [
          'template',
          'gx',
          'charts/gx-platform',
          '--namespace',
          'gx-system',
          '--skip-tests',
          '--values',
          '-',
          ...flags,
        ],
        buildInput(values),
      );
    },
    tests: (values = {}) =>
      render(
        helm,
        [
          'template',
          'gx',
          'charts/gx-platform',
          '--namespace',
          'gx-system',
          '--show-only',
          'templates/tests/health.yaml',
          '--values',
          '-',
        ],
        buildInput(values),
      ),
    notes: async (values = {}) => {
      const said = await output(
        helm,
        [
          'install',
          'gx',
          'charts/gx-platform',
          '--namespace',
          'gx-system',
          '--dry-run=client',
          '--values',
          '-',
        ],
        buildInput(values),
      );
      return said.slice(said.lastIndexOf('\nNOTES:'));
    },
    lint: (values = {}) =>
      output(helm, ['lint', 'charts/gx-platform', '--strict', '--values', '-'], buildInput(values)),
    kustomize: (folder) => render(kubectl, ['kustomize', folder]),
  };
}

/** Returns values as Helm reads them, with the registry that an installation has to name. */
const buildInput = (values: { images?: object }): string =>
  JSON.stringify({ ...values, images: { registry: NO_REGISTRY, ...values.images } });

const objectsIn = (text: string): KubeYaml[] =>
  parseAllDocuments(text)
    .map((document) => document.toJS() as KubeYaml | null)
    .filter((object) => object !== null);

export const idOf = ({ kind, metadata }: KubeYaml): string =>
  [kind, metadata.namespace, metadata.name].filter(Boolean).join('/');
