import { setTimeout as wait } from 'node:timers/promises';
import type { CallbackManagerForLLMRun } from '@langchain/core/callbacks/manager';
import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessage, AIMessageChunk, type BaseMessage } from '@langchain/core/messages';
import { ChatGenerationChunk, type ChatResult } from '@langchain/core/outputs';

/** Slow enough to see the words stream. */
const MILLISECONDS_PER_WORD = 30;

/** Plays the model where no key is set: `reply` sees the messages and makes the answer, which streams by words. */
export class StandIn extends BaseChatModel {
  readonly #reply: (messages: BaseMessage[]) => AIMessage;

  constructor(reply: (messages: BaseMessage[]) => AIMessage) {
    super({});
    this.#reply = reply;
  }

  override _llmType(): string {
    return 'stand-in';
  }

  /** It knows its tools already. */
  override bindTools(): this {
    return this;
  }

  override async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    const message = this.#reply(messages);
    return { generations: [{ message, text: message.text }] };
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    _options: unknown,
    run?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    const { text, tool_calls: calls = [] } = this.#reply(messages);
    const words = text.match(/\S+\s*/g) ?? [];
    const asked = calls.map(({ id, name, args }, index) => ({
      id,
      name,
      args: JSON.stringify(args),
      index,
    }));
    const pieces = words.map((content) => new AIMessageChunk({ content }));
    if (asked.length > 0) pieces.push(new AIMessageChunk({ content: '', tool_call_chunks: asked }));
    for (const message of pieces) {
      await wait(MILLISECONDS_PER_WORD);
      const chunk = new ChatGenerationChunk({ message, text: message.text });
      yield chunk;
      await run?.handleLLMNewToken(chunk.text, undefined, undefined, undefined, undefined, {
        chunk,
      });
    }
  }
}
