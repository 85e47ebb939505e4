import { readdirSync, readFileSync } from 'node:fs';
import { cp, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureTools } from '../cluster/parts.ts';
import { runProcess } from '../commands.ts';
import { NO_REGISTRY } from '../images/registry.ts';
import { addAnnotations, type ReleasedImage } from './annotations.ts';
import type { Change } from './changelog.ts';
import { packFolder } from './packed.ts';

export const CHART = 'charts/gx-platform';

type ChartParts = {
  source: string;
  version: string;
  seconds: number;
  changes: Change[];
  images: ReleasedImage[];
};

/** Packs the chart of a commit's files, with its annotations, into the folder. Returns the file. */
export async function packChart(
  { source, version, seconds, changes, images }: ChartParts,
  folder: string,
): Promise<string> {
  const parent = join(folder, 'unpacked');
  const chart = join(parent, 'gx-platform');
  await mkdir(parent, { recursive: true });
  await cp(join(source, CHART), chart, { recursive: true });
  const read = (file: string): string => readFileSync(join(source, file), 'utf8');
  const definitions = readdirSync(join(source, 'crds'))
    .toSorted()
    .map((file) => read(`crds/${file}`));
  const { license } = JSON.parse(read('package.json')) as { license: string };
  const chartYaml = addAnnotations(read(`${CHART}/Chart.yaml`), {
    version,
    license,
    changes,
    images,
    definitions,
  });
  await writeFile(join(chart, 'Chart.yaml'), chartYaml);
  await writeFile(
    join(chart, 'values.yaml'),
    nameArchitecture(read(`${CHART}/values.yaml`), images),
  );
  const file = join(folder, `gx-platform-${version}.tgz`);
  await packFolder(parent, 'gx-platform', file, seconds);
  await rm(parent, { recursive: true });
  return file;
}

const NO_ARCHITECTURE = "\n  architecture: ''\n";

/**
 * Returns the chart's values with the kind of processors that the images are for, if it is the same one of all. Charts
 * of earlier commits have no such value.
 */
export function nameArchitecture(
  valuesYaml: string,
  images: readonly Pick<ReleasedImage, 'platforms'>[],
): string {
  const known = new Set(images.flatMap(({ platforms }) => platforms));
  const [only] = known;
  if (only === undefined || known.size > 1) return valuesYaml;
  const [, architecture = ''] = only.split('/');
  return valuesYaml.replace(NO_ARCHITECTURE, `\n  architecture: ${architecture}\n`);
}

/** The namespace that `helm install --create-namespace` makes, as config/default has it. */
const NAMESPACE = `apiVersion: v1
kind: Namespace
metadata:
  name: gx-system
  labels:
    app.kubernetes.io/part-of: gx-platform
    pod-security.kubernetes.io/enforce: restricted
`;

/**
 * Returns the objects of a packed chart in one file, for kubectl: as Helm renders them with default values, behind
 * their namespace. Their reader writes a registry in the place of `NO_REGISTRY`.
 */
export async function installYaml(chart: string): Promise<string> {
  const { helm } = await ensureTools(['helm']);
  const rendered = await runProcess(helm, [
    'template',
    'gx',
    chart,
    '--namespace',
    'gx-system',
    '--skip-tests',
    '--set',
    `images.registry=${NO_REGISTRY}`,
  ]);
  return `${NAMESPACE}${rendered}`;
}

/** Returns values of the chart with which it names each image by its digest. */
export const formatDigestValues = (images: ReleasedImage[]): string =>
  [
    '# Values of the chart: each image by its digest, which its signature covers.',
    'images:',
    ...images.map(({ value, digest }) => `  ${value}: { digest: '${digest}' }`),
    '',
  ].join('\n');
