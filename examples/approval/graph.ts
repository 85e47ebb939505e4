import { AIMessage, SystemMessage } from '@langchain/core/messages';
import {
  Annotation,
  Command,
  interrupt,
  MessagesAnnotation,
  StateGraph,
} from '@langchain/langgraph';
import { model } from './model.ts';

const State = Annotation.Root({ ...MessagesAnnotation.spec, draft: Annotation<string> });

const TASK = new SystemMessage(
  'Write a short mail that says what the user asks for. Answer with the mail alone.',
);

async function write({ messages }: typeof State.State): Promise<Partial<typeof State.State>> {
  const draft = await model.invoke([TASK, ...messages]);
  return { messages: [draft], draft: draft.text };
}

/** The run ends here as "interrupted". The next one brings the answer, a minute or a month later: `command.resume`. */
function approve({ draft }: typeof State.State): Command {
  const answer = String(
    interrupt({ question: 'Send this mail? Say yes, or what to change.', draft }),
  );
  if (/^yes\b/i.test(answer)) return new Command({ goto: 'send' });
  return new Command({ goto: 'write', update: { messages: [{ role: 'user', content: answer }] } });
}

/** Here the mail would leave. */
const send = () => ({ messages: [new AIMessage('The mail is sent.')] });

export const graph = new StateGraph(State)
  .addNode('write', write)
  .addNode('approve', approve, { ends: ['send', 'write'] })
  .addNode('send', send)
  .addEdge('__start__', 'write')
  .addEdge('write', 'approve')
  .addEdge('send', '__end__')
  .compile();
