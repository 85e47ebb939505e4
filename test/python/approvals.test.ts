import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  buildDraftedAnswer,
  buildFirstDraft,
  type AnswerDraft,
} from '../../src/console/page/studio/questions/drafts.ts';
import { listAskedActions } from '../../src/schema/agent/question-shapes.ts';
import { listThreadQuestions } from '../../src/console/page/studio/questions/questions.ts';
import type { AgentProcess } from '../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../kit/postgres.ts';
import { startPython } from './agent.ts';
import { packagesOf } from './tools.ts';

/*
 * LangChain's own middleware asks about tools, batched and per call, and its graphs take the answers that the forms of
 * the studio, of MCP and of A2A make.
 */

let database: TestDatabase;
let agent: AgentProcess;

beforeAll(async () => {
  database = await freshDatabase();
  const GX_PYTHON = `${await packagesOf('test/python/agents/requirements.txt')}/python`;
  agent = await startPython(database.uri, { GX_PYTHON }, 'approvals/gx.json');
}, 600_000);
afterAll(async () => {
  await agent.kill('SIGKILL');
  await database.drop();
});

type Waiting = { interrupts: Record<string, unknown[]> };
type Ended = { messages: { content: string }[]; rating?: unknown; sure?: unknown };

const INPUT = { messages: [{ role: 'user', content: 'go' }] };

/** Runs a graph to its questions, fills in the studio's forms, and returns how the run ended. */
async function answerInStudio(
  graph: string,
  fill: (draft: AnswerDraft, name: string) => AnswerDraft,
): Promise<{ kinds: string[]; ended: Ended; waits: number }> {
  const { thread_id } = await agent.client.threads.create();
  await agent.client.runs.wait(thread_id, graph, { input: INPUT });
  const { interrupts } = (await agent.client.threads.get(thread_id)) as unknown as Waiting;
  const questions = listThreadQuestions(Object.values(interrupts).flat());
  const answers = questions.map(({ id, asked }) => {
    const drafted = buildDraftedAnswer(
      asked,
      fill(buildFirstDraft(asked), listAskedActions(asked)[0]?.name ?? ''),
    );
    if ('faults' in drafted) throw new Error(JSON.stringify(drafted.faults));
    return [id, drafted.answer] as const;
  });
  const resume = Object.fromEntries(answers);
  const ended = await agent.client.runs.wait(thread_id, graph, { command: { resume } });
  const after = (await agent.client.threads.get(thread_id)) as unknown as Waiting;
  return {
    kinds: questions.map(({ asked }) => asked.kind),
    ended: ended as unknown as Ended,
    waits: Object.values(after.interrupts).flat().length,
  };
}

const decide = (draft: AnswerDraft, decisions: object[]): AnswerDraft => ({
  ...draft,
  decisions: draft.decisions.map((one, index) => ({ ...one, ...decisions[index] })),
});

describe('the forms of the studio', () => {
  test.each([
    ['approve', { kind: 'approve' }, 'paid 5 to Ann'],
    ['edit', { kind: 'edit', args: '{"to":"Bob","euros":7}' }, 'paid 7 to Bob'],
    ['reject', { kind: 'reject', message: 'too much' }, 'too much'],
    ['respond', { kind: 'respond', message: 'done by hand' }, 'done by hand'],
  ])('%s a call of its own and one of a batch', async (_kind, decision, said) => {
    const perCall = await answerInStudio('per_call', (draft, name) =>
      decide(draft, [name === 'pay' ? decision : { kind: 'reject' }]),
    );
    expect(perCall.kinds).toEqual(['tool_approval', 'tool_approval']);
    expect(perCall.ended.messages.at(-1)?.content).toContain(said);
    expect(perCall.ended.messages.at(-1)?.content).not.toContain('forgot');

    const batched = await answerInStudio('batched', (draft) =>
      decide(draft, [decision, { kind: 'approve' }]),
    );
    expect(batched.kinds).toEqual(['decisions']);
    expect(batched.ended.messages.at(-1)?.content).toContain(said);
    expect(batched.ended.messages.at(-1)?.content).toContain('forgot all');
  });

  test('know the one decision that a tool takes', async () => {
    const { ended, kinds } = await answerInStudio('one_decision', (draft) => {
      expect(draft.decisions).toMatchObject([{ kind: 'respond' }]);
      return decide(draft, [{ message: 'by hand' }]);
    });
    expect(kinds).toEqual(['tool_approval']);
    expect(ended.messages.at(-1)?.content).toContain('by hand');
  });

  test('have the fields of a schema, and the one value of a schema that is no object', async () => {
    const { thread_id } = await agent.client.threads.create();
    await agent.client.runs.wait(thread_id, 'typed', { input: {} });
    const answerWith = async (texts: Record<string, string>): Promise<Ended> => {
      const { interrupts } = (await agent.client.threads.get(thread_id)) as unknown as Waiting;
      const [question] = listThreadQuestions(Object.values(interrupts).flat());
      expect(question!.asked.kind).toBe('typed');
      const drafted = buildDraftedAnswer(question!.asked, {
        ...buildFirstDraft(question!.asked),
        texts,
      });
      if ('faults' in drafted) throw new Error(JSON.stringify(drafted.faults));
      return (await agent.client.runs.wait(thread_id, 'typed', {
        command: { resume: { [question!.id]: drafted.answer } },
      })) as unknown as Ended;
    };
    expect(await answerWith({ stars: '4', why: 'warm' })).toMatchObject({
      rating: { stars: 4, why: 'warm' },
    });
    expect(await answerWith({ answer: 'true' })).toMatchObject({ sure: true });
  });
});

test('a client of MCP has a form of plain fields for each call, and its answers reach the tools', async () => {
  const client = new Client(
    { name: 'a test', version: '1' },
    { capabilities: { elicitation: {} } },
  );
  client.setVersionNegotiation({ mode: { pin: '2026-07-28' } });
  const asked: string[][] = [];
  client.setRequestHandler('elicitation/create', ({ params }) => {
    const fields = Object.keys(
      (params as { requestedSchema: { properties: object } }).requestedSchema.properties,
    );
    asked.push(fields);
    const content = fields.includes('arguments')
      ? { decision: 'edit', arguments: '{"to":"Cleo","euros":9}' }
      : { decision: 'reject', message: 'keep it' };
    return { action: 'accept', content };
  });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${agent.url}/mcp`)));
  const { structuredContent } = await client.callTool({ name: 'per_call', arguments: INPUT });
  await client.close();
  expect(asked.toSorted((one, other) => one.length - other.length)).toEqual([
    ['decision', 'message'],
    ['decision', 'message', 'arguments'],
  ]);
  const last = (structuredContent as Ended).messages.at(-1)!.content;
  expect(last).toContain('paid 9 to Cleo');
  expect(last).toContain('keep it');
});

describe('a message of A2A', () => {
  const send = async (text: string, more: object = {}): Promise<Record<string, never>> => {
    const { assistant_id } = (
      await agent.client.assistants.search({ graphId: 'one_decision' })
    )[0]!;
    const answer = await fetch(`${agent.url}/a2a/${assistant_id}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'SendMessage',
        params: {
          message: { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text }], ...more },
        },
      }),
    });
    return (await answer.json()) as Record<string, never>;
  };

  test('answers in place of a call', async () => {
    const first = (await send('go')) as unknown as {
      result: { task: { id: string; contextId: string; status: { state: string } } };
    };
    const { id: taskId, contextId, status } = first.result.task;
    expect(status.state).toBe('TASK_STATE_INPUT_REQUIRED');
    const second = await send('paid it in cash', { taskId, contextId });
    expect(JSON.stringify(second)).toContain('paid it in cash');
    expect(JSON.stringify(second)).toContain('TASK_STATE_COMPLETED');
  });
});
