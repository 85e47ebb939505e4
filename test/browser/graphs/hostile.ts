import { AIMessage } from '@langchain/core/messages';
import { Annotation, interrupt, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';

const HTML = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>';
/** A mark after which a browser shows letters from right to left. */
const BIDI = '\u202E';
/** A name that is a script as an address. LangGraph refuses a colon in the name of a node. */
const SCRIPT = 'javascript:window.hacked=1';
const NODE = `${HTML}${BIDI}`;
const HUGE = 'n'.repeat(50_000);

const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  asks: Annotation<boolean>,
  [HTML]: Annotation<unknown>,
  [SCRIPT]: Annotation<unknown>,
  [BIDI]: Annotation<unknown>,
});

/** Names of messages, tools and parts that nobody should trust. */
const message = (): AIMessage =>
  new AIMessage({
    name: HTML,
    content: [
      { type: 'text', text: `${BIDI}[a](${SCRIPT}) ${HTML}` },
      { type: HTML },
      { type: 'image_url', image_url: { url: SCRIPT } },
      { type: 'image_url', image_url: { url: `data:text/html,${HTML}` } },
      {
        type: 'file',
        url: 'data:text/html;base64,PHNjcmlwdD53aW5kb3cuaGFja2VkPTE8L3NjcmlwdD4=',
        filename: HTML,
      },
    ] as never,
    tool_calls: [{ id: HTML, name: `${HTML}${BIDI}`, args: { [HTML]: SCRIPT } }],
  });

/** Everything that it names or says is hostile. */
export const hostile = new StateGraph(State)
  .addNode(NODE, () => ({
    messages: [message()],
    [HTML]: { [HTML]: HTML, [SCRIPT]: SCRIPT },
    [SCRIPT]: HUGE,
    [BIDI]: BIDI,
  }))
  .addNode(HUGE, ({ asks }) => {
    if (asks)
      interrupt({
        message: HTML,
        requestedSchema: {
          type: 'object',
          properties: { [HTML]: { type: 'string', title: HTML, description: SCRIPT } },
        },
      });
    return {};
  })
  .addEdge(START, NODE)
  .addConditionalEdges(NODE, () => HTML, { [HTML]: HUGE })
  .compile();
