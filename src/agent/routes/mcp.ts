import { Type } from 'typebox';
import { OnceHeaders } from '../../schema/agent/request-key.ts';
import { buildRpcRefusal } from '../../http/routes/json-rpc.ts';
import type { AgentDeps } from '../parts/deps.ts';
import { countCalls, McpEndpoint } from '../mcp/endpoint.ts';
import type { Feature } from './feature.ts';
import { type AgentRoute, buildAgentRoutes } from './route.ts';

const route = buildAgentRoutes('agents');

const Message = Type.Unsafe<unknown>({
  description: 'A message of JSON-RPC 2.0, or a list of them.',
});
const describeRefusal = (description: string): { description: string; schema: typeof Message } => ({
  description,
  schema: Message,
});

function buildMcpRoute(deps: AgentDeps): AgentRoute {
  const endpoint = new McpEndpoint(deps);
  return route.post('/mcp', {
    id: 'mcp',
    summary: 'Call assistants as tools over the Model Context Protocol (MCP)',
    // Each method says what it needs.
    access: 'read',
    waits: true,
    ownPages: true,
    headers: OnceHeaders,
    body: Type.Unsafe<unknown>({}),
    starts: countCalls,
    answers: {
      200: {
        description:
          'The answer; a stream of events if the client asks for progress, or uses an older version of the protocol.',
        schema: Message,
        streams: true,
      },
      202: { description: 'The notification was accepted.' },
      400: describeRefusal(
        'Not a request of the protocol, or of a revision that this server does not support.',
      ),
      403: describeRefusal('Pages of this origin may not call.'),
      404: describeRefusal('No such method.'),
      406: describeRefusal('The client must accept JSON and event streams.'),
      413: describeRefusal('The body is too large.'),
      415: describeRefusal('The body must be JSON.'),
    },
    reword: buildRpcRefusal,
    handler: ({ body, ...request }) => endpoint.answer(body, request),
  });
}

/** Serves assistants as tools. */
export const mcpFeature: Feature = {
  isServed: ({ http }) => http.disable_mcp !== true,
  routes: (deps) => [buildMcpRoute(deps)],
  flag: 'mcp',
};
