/** Returns a function that finds the parameters in paths of OpenAPI's form; it returns undefined for another path. */
export function buildPathMatcher(
  path: string,
): (given: string) => Record<string, string> | undefined {
  const pattern = new RegExp(`^${path.replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`);
  return (given) => {
    const match = pattern.exec(given);
    return match === null ? undefined : { ...match.groups };
  };
}
