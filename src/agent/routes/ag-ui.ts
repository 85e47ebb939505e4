import { Type } from 'typebox';
import { answerJson } from '../../http/routes/route.ts';
import { RunAgentInput, StopAgentRun } from '../../schema/agent/ag-ui.ts';
import { OnceHeaders } from '../../schema/agent/request-key.ts';
import { STRATEGIES } from '../../schema/agent/run.ts';
import { buildEnumSchema } from '../../schema/types.ts';
import { buildCapabilities, listAgents } from '../ag-ui/capabilities.ts';
import type { AgentDeps } from '../parts/deps.ts';
import { AgUiEndpoint } from '../ag-ui/endpoint.ts';
import { agUiEvents, buildCopilotKitRoutes } from './copilotkit.ts';
import type { Feature } from './feature.ts';
import { goneAgain, describeAnswer, refused, type AgentRoute, buildAgentRoutes } from './route.ts';

const route = buildAgentRoutes('agents');
const AnAssistant = Type.Object({
  assistant_id: Type.String({ minLength: 1, description: 'An assistant, or the name of a graph.' }),
});

const RunQuery = Type.Object({
  on_disconnect: Type.Optional(
    buildEnumSchema(['cancel', 'continue'], {
      description: 'cancel: the run is stopped when its client disconnects.',
    }),
  ),
  multitask_strategy: Type.Optional(
    buildEnumSchema(STRATEGIES, {
      description: 'How to handle a run under way; by default, the new run waits until it ends.',
    }),
  ),
  assistant_version: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 2_147_483_647,
      description: 'A version of the assistant.',
    }),
  ),
});

function buildAgUiRoutes(deps: AgentDeps): AgentRoute[] {
  const endpoint = new AgUiEndpoint(deps);
  return [
    route.get('/ag-ui', {
      id: 'ag_ui_agents',
      summary: 'List the agents that can be reached over AG-UI',
      access: 'read',
      answers: {
        200: describeAnswer('The agents.', Type.Unsafe<unknown>({ type: 'array' })),
        ...refused,
      },
      handler: async ({ caller, ...request }) =>
        answerJson(await listAgents(deps, caller, deps.requests.address(request))),
    }),
    route.get('/ag-ui/{assistant_id}', {
      id: 'ag_ui_capabilities',
      summary: 'Get the capabilities of an agent, in the form of AG-UI',
      access: 'read',
      params: AnAssistant,
      answers: {
        200: describeAnswer('The capabilities.', Type.Unsafe<unknown>({ type: 'object' })),
        ...refused,
      },
      handler: async ({ params, caller }) =>
        answerJson(await buildCapabilities(deps, params.assistant_id, caller)),
    }),
    route.post('/ag-ui/{assistant_id}', {
      id: 'ag_ui_run',
      summary: 'Start a run over AG-UI 1.0, and stream its events',
      access: 'write',
      params: AnAssistant,
      query: RunQuery,
      headers: OnceHeaders,
      body: RunAgentInput,
      starts: () => 1,
      answers: { ...agUiEvents, ...refused, ...goneAgain },
      handler: ({ params, query, body, ...request }) =>
        endpoint.run(params.assistant_id, body, query, request),
    }),
    route.post('/ag-ui/{assistant_id}/connect', {
      id: 'ag_ui_connect',
      summary: 'Stream the state of a thread, and the rest of a run under way',
      access: 'read',
      params: AnAssistant,
      body: RunAgentInput,
      answers: { ...agUiEvents, ...refused },
      handler: ({ body, ...request }) => endpoint.connect(body, request),
    }),
    route.post('/ag-ui/{assistant_id}/stop', {
      id: 'ag_ui_stop',
      summary: 'Stop the runs of a thread',
      access: 'write',
      params: AnAssistant,
      body: StopAgentRun,
      answers: {
        200: describeAnswer(
          'Whether any run was stopped.',
          Type.Object({ stopped: Type.Boolean() }),
        ),
        ...refused,
      },
      handler: ({ body, ...request }) => endpoint.stop(body, request),
    }),
  ];
}

/** Serves assistants to pages and clients that speak AG-UI. Its runs are those of event streaming. */
export const agUiFeature: Feature = {
  isServed: ({ http, config }) =>
    config.eventStreaming &&
    ![
      http.disable_threads,
      http.disable_runs,
      http.disable_event_streaming,
      http.disable_ag_ui,
    ].includes(true),
  routes: (deps) => [...buildAgUiRoutes(deps), ...buildCopilotKitRoutes(deps)],
  flag: 'ag_ui',
};
