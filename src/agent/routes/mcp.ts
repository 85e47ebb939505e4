import { Type } from 'typebox';
import { OnceHeaders } from '../../schema/agent/request-key.ts';
import { refusalOfRequest } from '../../http/json-rpc.ts';
import { callsIn, McpEndpoint, type McpDeps } from '../mcp/endpoint.ts';
import type { Feature } from './feature.ts';
import { type AgentRoute, agentRoutes } from './route.ts';

const route = agentRoutes('agents');

const Message = Type.Unsafe<unknown>({ description: 'A message of JSON-RPC 2.0, or a list of them.' });
const refused = (description: string): { description: string; schema: typeof Message } => ({ description, schema: Message });

function mcpRoute(deps: McpDeps): AgentRoute {
  const endpoint = new McpEndpoint(deps);
  return route.post('/mcp', {
    id: 'mcp',
    summary: 'Assistants as tools of other agents, by the Model Context Protocol',
    // Each method says what it needs.
    access: 'read',
    waits: true,
    ownPages: true,
    headers: OnceHeaders,
    body: Type.Unsafe<unknown>({}),
    starts: callsIn,
    answers: {
      200: {
        description: 'The answer; a stream of events where the client asks for progress, or is of the older era.',
        schema: Message,
        streams: true,
      },
      202: { description: 'A notification was taken.' },
      400: refused('No request of the protocol, or not of a revision that this server speaks.'),
      403: refused('A page of this origin may not call.'),
      404: refused('No such method.'),
      406: refused('The client must accept JSON and event streams.'),
      413: refused('The body is too large.'),
      415: refused('The body must be JSON.'),
    },
    reword: refusalOfRequest,
    handler: ({ body, ...request }) => endpoint.answer(body, request),
  });
}

/** Serves assistants as tools. */
export const mcpFeature: Feature = {
  isServed: ({ http }) => http.disable_mcp !== true,
  routes: (deps) => [mcpRoute(deps)],
  flag: 'mcp',
};
