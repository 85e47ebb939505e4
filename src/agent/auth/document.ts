import type { AuthSettings } from '../../schema/agent/gx-json.ts';
import { type Json, isObject } from '../../schema/json.ts';

type Operations = Record<string, { security?: unknown[] }>;

/** Returns the security schemes that `auth.openapi` names. */
export function readSecuritySchemes({ openapi }: Partial<AuthSettings>): Json {
  const schemes = isObject(openapi) ? openapi['securitySchemes'] : undefined;
  return isObject(schemes) ? schemes : {};
}

/** Returns the security that `auth.openapi` requires of all requests: alternatives, each with all its schemes. */
export const readRequiredSchemes = ({ openapi }: Partial<AuthSettings>): unknown =>
  isObject(openapi) ? openapi['security'] : undefined;

/** Returns the document with the additions of `auth.openapi`: security of guarded routes, and more for some paths. */
export function mergeSecurity(document: Json, { openapi }: Partial<AuthSettings>): Json {
  const { security, paths } = isObject(openapi) ? openapi : {};
  const own = document['paths'] as Record<string, Operations>;
  const required = Array.isArray(security)
    ? Object.fromEntries(
        Object.entries(own).map(([path, ops]) => [path, addRequirement(ops, security)]),
      )
    : own;
  const added = isObject(paths)
    ? Object.entries(paths).filter(([, operations]) => isObject(operations))
    : [];
  const all: Record<string, unknown> = { ...required };
  for (const [path, operations] of added)
    all[path] = mergeOperations(required[path] ?? {}, operations as Json);
  return { ...document, paths: all };
}

const addRequirement = (operations: Operations, security: unknown[]): Operations =>
  Object.fromEntries(
    Object.entries(operations).map(([method, operation]) => [
      method,
      operation.security !== undefined && operation.security.length === 0
        ? operation
        : { ...operation, security },
    ]),
  );

const mergeOperations = (operations: Json, more: Json): Json => ({
  ...operations,
  ...Object.fromEntries(
    Object.entries(more).map(([method, operation]) => [
      method,
      { ...(operations[method] as Json | undefined), ...(operation as Json) },
    ]),
  ),
});
