import type { CustomKind } from './custom-kinds.ts';
import { CATEGORY } from './custom-resources.ts';
import { GROUP, VERSION } from '../objects/api-group.ts';
import type { Json } from '../../json.ts';

const VERSION_WORDS = 'Defined by gx-platform';

/** Returns the version that the description of a definition names. */
export const parseCrdVersion = (description: string | undefined): string | undefined =>
  new RegExp(`${VERSION_WORDS} (\\S+)\\.$`).exec(description ?? '')?.[1];

/**
 * Returns the CustomResourceDefinition of a kind, as plain JSON. Its description names the version of the platform,
 * which an operator reads when it starts: everybody may read descriptions, but few may read definitions.
 */
export function buildCrd(kind: CustomKind, version?: string): Json {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: `${kind.plural}.${GROUP}`,
      annotations: { 'helm.sh/resource-policy': 'keep' },
      labels: { 'app.kubernetes.io/part-of': 'gx-platform' },
    },
    spec: {
      group: GROUP,
      scope: 'Namespaced',
      names: {
        kind: kind.kind,
        plural: kind.plural,
        singular: kind.singular,
        shortNames: kind.shortNames,
        categories: [CATEGORY],
      },
      versions: [
        {
          name: VERSION,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: buildRootSchema(kind, version) },
          ...(kind.status && {
            subresources: { status: {}, ...(kind.scale && { scale: kind.scale }) },
          }),
          additionalPrinterColumns: kind.columns.map(
            ({ name, type, jsonPath, priority, description }) => ({
              name,
              type,
              jsonPath,
              ...(priority !== undefined && { priority }),
              ...(description !== undefined && { description }),
            }),
          ),
          ...(kind.selectable && {
            selectableFields: kind.selectable.map((jsonPath) => ({ jsonPath })),
          }),
        },
      ],
    },
  };
}

function buildRootSchema(kind: CustomKind, version: string | undefined): Json {
  return {
    type: 'object',
    ...(version !== undefined && { description: `${VERSION_WORDS} ${version}.` }),
    required: ['spec'],
    properties: {
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      metadata: { type: 'object' },
      spec: toStructuralSchema(kind.spec),
      ...(kind.status && { status: toStructuralSchema(kind.status) }),
    },
    ...(kind.rules.length > 0 && { 'x-kubernetes-validations': kind.rules }),
  };
}

/**
 * Returns a schema value as Kubernetes takes it: plain JSON, without `additionalProperties: false`, because the API
 * server itself prunes or refuses unknown fields, and without nulls, which in a custom resource are absent fields.
 * Formats that Kubernetes does not know are left out.
 */
export function toStructuralSchema(schema: unknown): Json {
  const {
    nullable: _null,
    additionalProperties,
    properties,
    items,
    enum: words,
    format,
    type,
    ...rest
  } = JSON.parse(JSON.stringify(schema)) as Json;
  const kept =
    typeof additionalProperties === 'object'
      ? { additionalProperties: toStructuralSchema(additionalProperties) }
      : {};
  return {
    // Kubernetes has a keyword of its own for a field that is a number or a text.
    ...(typeof type === 'string' && { type }),
    ...rest,
    ...(typeof format === 'string' && { format }),
    ...(Array.isArray(words) && { enum: words.filter((word) => word !== null) }),
    ...(properties !== undefined && {
      properties: Object.fromEntries(
        Object.entries(properties as Json).map(([name, inner]) => [
          name,
          toStructuralSchema(inner),
        ]),
      ),
    }),
    ...(items !== undefined && { items: toStructuralSchema(items) }),
    ...kept,
  };
}
