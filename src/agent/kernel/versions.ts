import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

/** Returns the version of this server as releases are named, `v<major>.<minor>.<patch>`, and that of its LangGraph. */
export function readVersions(): { version: string; langgraphVersion: string } {
  const read = (path: string | URL): string =>
    (JSON.parse(readFileSync(path, 'utf8')) as { version: string }).version;
  const langgraph = createRequire(import.meta.url).resolve('@langchain/langgraph/package.json');
  return {
    version: `v${read(new URL('../../../package.json', import.meta.url))}`,
    langgraphVersion: read(langgraph),
  };
}

/** Returns whether a version is of an older series, such as 1.2, than another one. */
export function isOlder(version: string, series: string): boolean {
  const [[major = 0, minor = 0], [lowest = 0, lowestMinor = 0]] = [version, series].map((each) =>
    each.split('.').map(Number),
  ) as [number[], number[]];
  return major < lowest || (major === lowest && minor < lowestMinor);
}
