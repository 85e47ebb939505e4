import { AIMessage } from '@langchain/core/messages';
import { Annotation, interrupt, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';

/** Questions in the shapes that people use. */
const SHAPES: Record<string, unknown> = {
  decisions: {
    actionRequests: [
      { name: 'send_mail', args: { to: 'a' }, description: 'It sends a mail.' },
      { name: 'delete', args: { id: 1 } },
    ],
    reviewConfigs: [
      { actionName: 'send_mail', allowedDecisions: ['approve', 'edit', 'reject'] },
      { actionName: 'delete', allowedDecisions: ['approve', 'reject'] },
    ],
  },
  inbox: [
    {
      action_request: { action: 'book', args: { seats: 2 } },
      config: { allow_accept: true, allow_edit: true, allow_respond: true },
    },
  ],
  form: {
    message: 'How many seats?',
    requestedSchema: {
      type: 'object',
      properties: { seats: { type: 'integer', title: 'Seats' } },
      required: ['seats'],
    },
  },
  hostile: { question: '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>' },
};

const State = Annotation.Root({ ...MessagesAnnotation.spec, kind: Annotation<string> });

const said = (name: string, answer: unknown) => ({
  messages: [new AIMessage(`${name}: ${JSON.stringify(answer)}`)],
});

/** A graph within the graph, which speaks for itself. */
const inner = new StateGraph(Annotation.Root({ ...MessagesAnnotation.spec }))
  .addNode('think', () => ({ messages: [new AIMessage('inner words')] }))
  .addEdge(START, 'think')
  .compile();

/** Asks in the shape that the input names. With `both`, two nodes ask at once. */
export const questions = new StateGraph(State)
  .addNode('within', async (_, config) => {
    await inner.invoke({ messages: [] }, config);
    return {};
  })
  .addNode('first', ({ kind }) => said('first', interrupt(SHAPES[kind] ?? 'the first question')))
  .addNode('second', ({ kind }) =>
    kind === 'both' ? said('second', interrupt('the second question')) : {},
  )
  .addEdge(START, 'within')
  .addEdge('within', 'first')
  .addEdge('within', 'second')
  .compile();
