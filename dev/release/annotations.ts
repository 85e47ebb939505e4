import { parse, parseDocument, stringify } from 'yaml';
import { DevError } from '../errors.ts';
import type { Change } from './changelog.ts';
import { isPrerelease } from './versions.ts';

/** An image of a release: its name in the chart's values, its reference, the digest of its index, and its platforms. */
export type ReleasedImage = {
  value: string;
  name: string;
  reference: string;
  digest: string;
  platforms: string[];
};

type AnnotationParts = {
  version: string;
  license: string;
  changes: Change[];
  images: ReleasedImage[];
  definitions: string[];
};
type Definition = {
  metadata: { name: string };
  spec: { names: { kind: string }; versions: { name: string; storage: boolean }[] };
};

/** The meaning of each kind, for readers of the chart's page. */
const KINDS: Record<string, string> = {
  Deployment: 'An agent: its image or repository, its database, its sizes and its route.',
  Revision: 'One immutable state of a deployment: its image and its settings.',
  Backup: "One backup of a deployment's database: its state, its size and how long it is kept.",
  Listener: 'The namespaces in which the agents of a tenant run.',
  GitIntegration:
    "A connection to a git host: its credentials and the repositories that a tenant's builds may read.",
  TracingProject: 'The name below which the traces of deployments are collected.',
};

/** Returns a Chart.yaml with annotations for Artifact Hub (https://artifacthub.io/docs/topics/annotations/helm/). */
export function addAnnotations(chartYaml: string, parts: AnnotationParts): string {
  const document = parseDocument(chartYaml);
  for (const [name, value] of Object.entries(buildAnnotations(parts)))
    document.setIn(['annotations', `artifacthub.io/${name}`], value);
  return document.toString({ lineWidth: 0 });
}

function buildAnnotations({
  version,
  license,
  changes,
  images,
  definitions,
}: AnnotationParts): Record<string, string> {
  const listed = images.map(({ name, reference, digest, platforms }) => ({
    name,
    image: `${reference}@${digest}`,
    platforms,
  }));
  return {
    license,
    operator: 'true',
    prerelease: String(isPrerelease(version)),
    images: stringify(listed),
    changes: stringify(changes),
    crds: stringify(definitions.map(describeDefinition)),
  };
}

function describeDefinition(yaml: string): object {
  const { metadata, spec } = parse(yaml) as Definition;
  const { kind } = spec.names;
  const description = KINDS[kind];
  if (description === undefined)
    throw new DevError(
      `The chart's page has no words for the kind ${kind}: add them to dev/release/annotations.ts.`,
    );
  const version = spec.versions.find(({ storage }) => storage)?.name ?? '';
  return { kind, version, name: metadata.name, displayName: kind, description };
}
