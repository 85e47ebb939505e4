import { isComposite } from '../../json.ts';

/**
 * Why an object of the cluster is not worked on as it is: nested too deep, too large, or of a shape that its readers
 * fail on. Stable words for machines.
 */
export const OBJECT_FAULTS = ['TooDeep', 'TooLarge', 'Unreadable'] as const;
export type ObjectFault = { reason: (typeof OBJECT_FAULTS)[number]; message: string };

/** How large the spec of a custom resource may be, in characters of JSON. Etcd takes no object above 1.5 MiB. */
export const SPEC_LIMIT = 262_144;
/** How deep an object may be nested. The pods of the largest deployments are nested 15 levels deep. */
export const DEPTH_LIMIT = 64;
/**
 * Characters of JSON that metadata and status may have. Kubernetes takes 256 KiB of annotations, and the longest status
 * of ours has some 40,000 characters.
 */
export const REST_LIMIT = 393_216;

/** Returns about how many characters a value has as JSON; Infinity if it is nested deeper than that. */
export function estimateJsonLength(value: unknown, depth: number): number {
  if (typeof value === 'string') return value.length + 2;
  if (!isComposite(value)) return 5;
  if (depth === 0) return Infinity;
  let length = 2;
  if (Array.isArray(value))
    for (const item of value) length += estimateJsonLength(item, depth - 1) + 1;
  else {
    const fields = value as Record<string, unknown>;
    for (const name of Object.keys(fields))
      length += name.length + 4 + estimateJsonLength(fields[name], depth - 1);
  }
  return length;
}

/** Returns the fault of a part of an object, such as its spec, if it has one. */
export function checkObjectPart(
  name: string,
  part: unknown,
  limit: number,
): ObjectFault | undefined {
  const length = estimateJsonLength(part, DEPTH_LIMIT);
  if (length <= limit) return undefined;
  if (length === Infinity)
    return {
      reason: 'TooDeep',
      message: `${name}: it is nested more than ${DEPTH_LIMIT} levels deep.`,
    };
  return {
    reason: 'TooLarge',
    message: `${name}: it has some ${length} characters of JSON, and ${limit} are allowed.`,
  };
}
