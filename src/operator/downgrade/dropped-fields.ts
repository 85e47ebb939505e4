import { isObject, type Json } from '../../schema/json.ts';

/** A schema of a custom resource definition. */
export type StructuralSchema = {
  properties?: Record<string, StructuralSchema>;
  additionalProperties?: StructuralSchema | boolean;
  items?: StructuralSchema;
  'x-kubernetes-preserve-unknown-fields'?: boolean;
};

/**
 * Returns the paths of the fields that the API server drops from a value when this schema is the one of its kind. It
 * keeps a field that the schema names, and any field of a map, and drops the rest where it reads or writes the object.
 * Source: Kubernetes, "Extend the Kubernetes API with CustomResourceDefinitions", field pruning.
 */
export function listDroppedFields(value: unknown, schema: StructuralSchema, at: string): string[] {
  if (Array.isArray(value))
    return value.flatMap((item, index) =>
      listDroppedFields(item, schema.items ?? {}, `${at}[${index}]`),
    );
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, field]) => {
    const path = `${at}.${name}`;
    const known = findSchema(name, schema);
    if (known !== undefined) return listDroppedFields(field, known, path);
    return schema['x-kubernetes-preserve-unknown-fields'] === true ? [] : [path];
  });
}

function findSchema(
  name: string,
  { properties, additionalProperties }: StructuralSchema,
): StructuralSchema | undefined {
  if (properties !== undefined && Object.hasOwn(properties, name)) return properties[name];
  if (additionalProperties === true) return { 'x-kubernetes-preserve-unknown-fields': true };
  return additionalProperties === false ? undefined : additionalProperties;
}

/** The definition of a kind in another version: its schema of the version that is stored. */
export type OtherDefinition = { kind: string; schema: StructuralSchema };

/** Returns the definitions of a group among the documents of a file. */
export function listDefinitions(documents: readonly unknown[], group: string): OtherDefinition[] {
  return documents.filter(isObject).flatMap((document) => {
    const { kind, spec } = document as { kind?: unknown; spec?: Json };
    if (kind !== 'CustomResourceDefinition' || spec?.['group'] !== group) return [];
    const { names, versions } = spec as {
      names: { kind: string };
      versions: { storage?: boolean; schema?: { openAPIV3Schema?: StructuralSchema } }[];
    };
    const stored = versions.find(({ storage }) => storage === true);
    return [{ kind: names.kind, schema: stored?.schema?.openAPIV3Schema ?? {} }];
  });
}
