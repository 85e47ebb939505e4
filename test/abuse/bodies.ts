import { attempt } from './attacks.ts';
import type { Verdicts } from './report.ts';
import { worstBodies, type Needed, type Schema } from './shapes.ts';
import type { WatchedServer } from './watched-server.ts';

type Operation = {
  operationId: string;
  requestBody?: { content: Record<string, { schema: Schema }> };
};
type Document = { paths: Record<string, Record<string, Operation>> };

export type Attacked = {
  server: WatchedServer;
  headers: Record<string, string>;
  /** The values of the names in paths. */
  known: Record<string, string>;
  needed: Needed;
  /** Bytes that a body of the operation may have. */
  limitOf: (operation: string, schema: Schema) => number;
  skips: (path: string) => boolean;
  /** Whether an answer may have no end. */
  stays: (path: string) => boolean;
};

/** Milliseconds within which a body was read and checked, and its run or stream has begun. */
const LEAVES = 1500;

/** Sends each route that takes a body the worst ones that it admits, one by one, and judges what each costs. */
export async function attackBodies(
  { server, headers, known, needed, limitOf, skips, stays }: Attacked,
  verdicts: Verdicts,
): Promise<void> {
  const document = (await (await fetch(`${server.url}/openapi.json`)).json()) as Document;
  for (const [template, operations] of Object.entries(document.paths)) {
    if (skips(template)) continue;
    const path = template.replaceAll(
      /\{(\w+)\}/g,
      (_, name: string) => known[name] ?? '00000000-0000-4000-8000-000000000000',
    );
    for (const [method, { operationId, requestBody }] of Object.entries(operations)) {
      const schema = requestBody?.content['application/json']?.schema;
      if (schema === undefined) continue;
      const leaves = stays(template) ? LEAVES : undefined;
      const sent = {
        leaves,
        method: method.toUpperCase(),
        headers: { ...headers, 'content-type': 'application/json' },
      };
      // The first fault of each route compiles a check, once for the life of the process.
      await attempt(server.url + path, { ...sent, body: '{"": [0]}' });
      for (const { name, body } of worstBodies(schema, limitOf(operationId, schema), needed)) {
        await server.reset();
        const got = await attempt(server.url + path, { ...sent, body });
        verdicts.attempt({
          what: `${operationId} ${name}`,
          bytes: Buffer.byteLength(body),
          ...got,
          ...(await server.cost()),
        });
      }
    }
  }
}
