import { Type } from 'typebox';
import { answerJson } from '../../http/routes/route.ts';
import { ClientId, RunAgentInput } from '../../schema/agent/ag-ui.ts';
import { OnceHeaders } from '../../schema/agent/request-key.ts';
import { buildNullableSchema } from '../../schema/types.ts';
import { describeRuntime } from '../ag-ui/capabilities.ts';
import type { AgentDeps } from '../parts/deps.ts';
import { AgUiEndpoint } from '../ag-ui/endpoint.ts';
import { goneAgain, describeAnswer, refused, type AgentRoute, buildAgentRoutes } from './route.ts';

/*
 * The paths of CopilotKit's runtime, for pages without a server of their own. They stop a run by a request, so a run
 * goes on when its page is gone.
 */

const route = buildAgentRoutes('agents');
const AnAgent = Type.Object({
  assistant_id: Type.String({ minLength: 1, description: 'An assistant, or the name of a graph.' }),
});
/** Events have no names: their type is in their data. */
export const agUiEvents = {
  200: {
    description: 'Events of AG-UI.',
    contentType: 'text/event-stream',
    schema: Type.Object({
      data: Type.String({ description: 'The event, as JSON.' }),
      id: Type.Optional(
        Type.String({ description: 'Where a client goes on that lost the stream.' }),
      ),
    }),
  },
};

export function buildCopilotKitRoutes(deps: AgentDeps): AgentRoute[] {
  const endpoint = new AgUiEndpoint(deps);
  return [
    route.get('/copilotkit/info', {
      id: 'copilotkit_info',
      summary: "List the agents as CopilotKit's runtime does",
      access: 'read',
      answers: {
        200: describeAnswer('The agents by name.', Type.Unsafe<unknown>({ type: 'object' })),
        ...refused,
      },
      handler: async ({ caller }) => answerJson(await describeRuntime(deps, caller)),
    }),
    route.post('/copilotkit/agent/{assistant_id}/run', {
      id: 'copilotkit_run',
      summary: 'Start a run for a page of CopilotKit, and stream its events',
      access: 'write',
      params: AnAgent,
      headers: OnceHeaders,
      body: RunAgentInput,
      starts: () => 1,
      answers: { ...agUiEvents, ...refused, ...goneAgain },
      handler: ({ params, body, ...request }) =>
        endpoint.run(params.assistant_id, body, { on_disconnect: 'continue' }, request),
    }),
    route.post('/copilotkit/agent/{assistant_id}/connect', {
      id: 'copilotkit_connect',
      summary:
        'Stream the state of a thread to a page of CopilotKit, and the rest of a run under way',
      access: 'read',
      params: AnAgent,
      body: RunAgentInput,
      answers: { ...agUiEvents, ...refused },
      handler: ({ body, ...request }) => endpoint.connect(body, request),
    }),
    route.post('/copilotkit/agent/{assistant_id}/stop/{thread_id}', {
      id: 'copilotkit_stop',
      summary: 'Stop the runs of a thread for a page of CopilotKit',
      access: 'write',
      params: Type.Object({ ...AnAgent.properties, thread_id: ClientId }),
      body: Type.Object({ runId: Type.Optional(buildNullableSchema(ClientId)) }),
      bodyOptional: true,
      answers: {
        200: describeAnswer(
          'Whether any run was stopped.',
          Type.Object({ stopped: Type.Boolean() }),
        ),
        ...refused,
      },
      handler: ({ params, body, ...request }) =>
        endpoint.stop({ threadId: params.thread_id, ...body }, request),
    }),
  ];
}
