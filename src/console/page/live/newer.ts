/** Returns whether a version, a decimal number of any length, is greater than another one. */
export const isNewer = (version: string, other: string): boolean =>
  version.length === other.length ? version > other : version.length > other.length;
