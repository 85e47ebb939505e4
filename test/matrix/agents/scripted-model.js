import { AIMessage, AIMessageChunk } from '@langchain/core/messages';
import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { ChatGenerationChunk } from '@langchain/core/outputs';

/** Calls one tool first if it has a call to make. Once the tool has answered, it says its text word by word. */
export class ScriptedModel extends BaseChatModel {
  /** `call` is `{name, args}` of a tool. The call's id is `call-<name>`. */
  constructor({ call, text }) {
    super({});
    this.call = call;
    this.text = text;
  }

  _llmType() {
    return 'scripted';
  }

  /** The model records what it calls. */
  bindTools() {
    return this;
  }

  #turn(messages) {
    const isAnswered = messages.at(-1).getType() === 'tool';
    return this.call === undefined || isAnswered ? { text: this.text } : { call: this.call };
  }

  async _generate(messages) {
    const { text = '', call } = this.#turn(messages);
    const tool_calls =
      call === undefined ? [] : [{ type: 'tool_call', id: `call-${call.name}`, ...call }];
    return { generations: [{ text, message: new AIMessage({ content: text, tool_calls }) }] };
  }

  async *_streamResponseChunks(messages, _options, runManager) {
    const { text, call } = this.#turn(messages);
    if (call !== undefined) {
      const args = JSON.stringify(call.args);
      const chunk = {
        type: 'tool_call_chunk',
        index: 0,
        id: `call-${call.name}`,
        name: call.name,
        args,
      };
      yield new ChatGenerationChunk({
        text: '',
        message: new AIMessageChunk({ content: '', tool_call_chunks: [chunk] }),
      });
      return;
    }
    for (const word of text.split(/(?<= )/)) {
      yield new ChatGenerationChunk({ text: word, message: new AIMessageChunk({ content: word }) });
      await runManager?.handleLLMNewToken(word);
    }
  }
}
