import type { Assistant } from '../../../schema/agent/assistant.ts';
import { buildAssistantsWhere, type AssistantFilters } from './assistants.ts';
import type { Db } from '../base/pool.ts';
import { refuseByNamed } from '../base/unsearchable.ts';

/* Protocols of other agents call an assistant by a name that is short, plain, and no other assistant's. */

/** `tool` has letters, digits, `_` and `-`, at most 64. */
export type AssistantTool = Assistant & { tool: string };

/** The name in the characters that every client takes, with room for a suffix that tells it from others. */
const PLAIN = `coalesce(nullif(left(trim(both '_' from regexp_replace(name, '[^a-zA-Z0-9_-]+', '_', 'g')), 55), ''), 'assistant')`;

/** Of several assistants with one plain name, all but the first get the end of their id behind it. */
const TOOL = `plain || case when row_number() over (partition by plain order by created_at, assistant_id) > 1
  then '_' || right(assistant_id::text, 8) else '' end`;

const SUFFIX = /_[0-9a-f]{8}$/;

/** Returns tools in the order of their names, those behind `after`. */
export function listAssistantTools(
  db: Db,
  visible: AssistantFilters,
  { after, limit }: { after: string | undefined; limit: number },
): Promise<AssistantTool[]> {
  return loadTools(
    db,
    visible,
    (parameter) =>
      after === undefined ? ['true', 'true'] : ['true', `tool > ${parameter(after)}`],
    limit,
  );
}

/** Returns the assistant of that name; undefined if there is none that may be seen. */
export async function findAssistantTool(
  db: Db,
  visible: AssistantFilters,
  tool: string,
): Promise<AssistantTool | undefined> {
  const plain = [tool, tool.replace(SUFFIX, '')];
  const [found] = await loadTools(
    db,
    visible,
    (parameter) => [`${PLAIN} = any(${parameter(plain)})`, `tool = ${parameter(tool)}`],
    1,
  );
  return found;
}

async function loadTools(
  db: Db,
  visible: AssistantFilters,
  conditions: (parameter: (value: unknown) => string) => [ofAssistant: string, ofTool: string],
  limit: number,
): Promise<AssistantTool[]> {
  await refuseByNamed(db.codec, 'assistant.metadata', visible.metadata);
  const values: unknown[] = [];
  const seen = buildAssistantsWhere(visible, values);
  const [ofAssistant, ofTool] = conditions((value) => `$${values.push(value)}`);
  return db.query<AssistantTool>({
    text: `select distinct on (tool) tool, assistant_id, graph_id, name, description from (
        select *, (${TOOL}) collate "C" as tool from (
          select assistant_id, graph_id, name, description, created_at, ${PLAIN} as plain
          from gx.assistant where ${seen} and ${ofAssistant}) p) t
      where ${ofTool} order by tool, created_at, assistant_id limit $${values.push(limit)}`,
    values,
  });
}
