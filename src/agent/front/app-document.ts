import { type Json, isObject } from '../../schema/json.ts';

/** Returns the document with the application's own operations. They replace built-in ones. */
export function mergeAppDocument(document: Json, app: Json | undefined, prefix: string): Json {
  if (app === undefined) return document;
  const paths: Json = { ...(document['paths'] as Json) };
  for (const [path, operations] of Object.entries(isObject(app['paths']) ? app['paths'] : {}))
    paths[prefix + path] = {
      ...(paths[prefix + path] as Json | undefined),
      ...(operations as Json),
    };
  return {
    ...document,
    paths,
    components: mergeComponents(document['components'], app['components']),
  };
}

/** Names of the server's own schemas win: its operations refer to them. */
function mergeComponents(own: unknown, more: unknown): Json {
  const merged: Json = isObject(more) ? { ...more } : {};
  for (const [kind, named] of Object.entries(isObject(own) ? own : {}))
    merged[kind] = { ...(merged[kind] as Json | undefined), ...(named as Json) };
  return merged;
}
