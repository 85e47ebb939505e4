import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

/** Returns the version of this server as releases are named, `v<major>.<minor>.<patch>`, and that of its LangGraph. */
export function versions(): { version: string; langgraphVersion: string } {
  const read = (path: string | URL): string => (JSON.parse(readFileSync(path, 'utf8')) as { version: string }).version;
  const langgraph = createRequire(import.meta.url).resolve('@langchain/langgraph/package.json');
  return { version: `v${read(new URL('../../../package.json', import.meta.url))}`, langgraphVersion: read(langgraph) };
}
