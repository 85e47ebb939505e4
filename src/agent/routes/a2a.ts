import { createHash } from 'node:crypto';
import { Type } from 'typebox';
import { Invalid } from '../../errors.ts';
import { answerJson, answerNoContent, type Reply } from '../../http/routes/route.ts';
import { Cards } from '../a2a/cards.ts';
import type { AgentDeps } from '../parts/deps.ts';
import { A2aEndpoint, buildTaskRefusal, countStartedTasks } from '../a2a/endpoint.ts';
import type { AgentCall } from '../auth/caller.ts';
import type { Feature } from './feature.ts';
import { describeAnswer, refused, type AgentRoute, buildAgentRoutes } from './route.ts';

const route = buildAgentRoutes('agents');
const AnAssistant = Type.Object({
  assistant_id: Type.String({ minLength: 1, description: 'An assistant, or the name of a graph.' }),
});
const OneOf = Type.Object({ assistant_id: Type.Optional(AnAssistant.properties.assistant_id) });
const Message = Type.Unsafe<unknown>({ description: 'A message of JSON-RPC 2.0.' });
const Card = Type.Unsafe<unknown>({ type: 'object', description: 'An agent card of A2A.' });
const describeError = (description: string): { description: string; schema: typeof Message } => ({
  description,
  schema: Message,
});

function buildMessagesRoute(deps: AgentDeps, cards: Cards): AgentRoute {
  const endpoint = new A2aEndpoint(deps, cards);
  return route.post('/a2a/{assistant_id}', {
    id: 'a2a',
    summary: 'Send tasks to an assistant over the Agent2Agent protocol (A2A)',
    // Each method says what it needs.
    access: 'read',
    waits: true,
    ownPages: true,
    params: AnAssistant,
    body: Type.Unsafe<unknown>({}),
    starts: countStartedTasks,
    answers: {
      200: {
        description:
          'The answer or the error of the request; a stream of answers if the request asks for one.',
        schema: Message,
        streams: true,
      },
      400: describeError('The body is not a message of the protocol.'),
      403: describeError('Pages of this origin may not call.'),
      404: describeError('No such assistant.'),
      413: describeError('The body is too large.'),
      415: describeError('The body must be JSON.'),
    },
    reword: buildTaskRefusal,
    handler: ({ body, params, ...request }) =>
      endpoint.answer(body, { assistant: params.assistant_id, request }),
  });
}

/** Seconds for which a client may keep a card; a description may be changed at any time. */
const CARD_LIFE = 60;

async function answerCard(cards: Cards, assistant: string, request: AgentCall): Promise<Reply> {
  const card = await cards.loadCard(assistant, request);
  const etag = `"${createHash('sha256').update(JSON.stringify(card)).digest('base64url')}"`;
  const headers = { etag, 'cache-control': `private, max-age=${CARD_LIFE}` };
  return request.headers['if-none-match'] === etag
    ? answerNoContent(304, headers)
    : answerJson(card, 200, headers);
}

const buildCardRoute = (cards: Cards, { path, id }: { path: string; id: string }): AgentRoute =>
  route.get(path, {
    id,
    summary: 'Get the agent card of an assistant',
    access: 'read',
    params: AnAssistant,
    answers: {
      200: describeAnswer('The card.', Card),
      304: { description: 'The client has the current card.' },
      ...refused,
    },
    handler: ({ params, ...request }) => answerCard(cards, params.assistant_id, request),
  });

const buildWellKnownRoute = (
  { graphs }: AgentDeps,
  cards: Cards,
  { file, id }: { file: string; id: string },
): AgentRoute =>
  route.get(`/.well-known/${file}`, {
    id,
    summary: 'Get the agent card of an assistant, or of the only graph',
    access: 'read',
    query: OneOf,
    answers: {
      200: describeAnswer('The card.', Card),
      304: { description: 'The client has the current card.' },
      ...refused,
    },
    handler: ({ query, ...request }) =>
      answerCard(cards, query.assistant_id ?? requireOnlyGraph(graphs), request),
  });

function requireOnlyGraph(graphs: string[]): string {
  if (graphs.length === 1) return graphs[0]!;
  const msg = `Field required: this server has several agents: ${graphs.join(', ')}`;
  throw new Invalid([{ loc: ['query', 'assistant_id'], msg, type: 'missing' }]);
}

/** Serves assistants as peers of other agents. */
export const a2aFeature: Feature = {
  isServed: ({ http }) => http.disable_a2a !== true,
  routes: (deps, door) => {
    const cards = new Cards(deps, door);
    return [
      buildMessagesRoute(deps, cards),
      buildCardRoute(cards, { path: '/a2a/{assistant_id}', id: 'a2a_card' }),
      buildCardRoute(cards, {
        path: '/a2a/{assistant_id}/.well-known/agent-card.json',
        id: 'a2a_well_known_card',
      }),
      buildWellKnownRoute(deps, cards, { file: 'agent-card.json', id: 'well_known_agent_card' }),
      // Early clients of version 0.3 look here.
      buildCardRoute(cards, {
        path: '/a2a/{assistant_id}/.well-known/agent.json',
        id: 'a2a_early_card',
      }),
      buildWellKnownRoute(deps, cards, { file: 'agent.json', id: 'early_agent_card' }),
    ];
  },
  flag: 'a2a',
};
