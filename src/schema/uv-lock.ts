/* Files of uv's projects tell where they belong. */

/** Where uv.lock has the members of a workspace, from its own folder. */
const MEMBERS = /^source = \{ (?:editable|virtual|directory) = "([^"]+)" \}/gm;

/**
 * Returns the folders that a uv.lock is the lock of: the members of its workspace, from its own folder. An example
 * below another project has nothing to do with the lock of that one.
 */
export const parseLockMembers = (lock: string): string[] =>
  [...lock.matchAll(MEMBERS)].map(([, member = '']) => member);

/** Returns whether a pyproject.toml, by its text, describes a package; others only have the settings of tools. */
export const isPythonProject = (pyproject: string | undefined): boolean =>
  /^\s*\[(project|build-system|tool\.poetry)\]/m.test(pyproject ?? '');
