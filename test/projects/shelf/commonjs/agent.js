const { MessagesAnnotation, StateGraph, START, END } = require('@langchain/langgraph');
const { answerTo } = require('./answers');

const graph = new StateGraph(MessagesAnnotation)
  .addNode('answer', ({ messages }) => ({ messages: [answerTo(messages)] }))
  .addEdge(START, 'answer')
  .addEdge('answer', END)
  .compile();

module.exports = { graph };
