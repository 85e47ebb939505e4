/*
 * The tokens that the models of a run use. LangChain's callbacks report them to a handler, which is a plain object
 * because the user's graph brings its own copy of the library.
 */

type Answer = {
  generations?: {
    message?: { usage_metadata?: { input_tokens?: number; output_tokens?: number } };
  }[][];
  llmOutput?: { tokenUsage?: { promptTokens?: number; completionTokens?: number } };
};

/** Returns the tokens of a model's answer. Undefined: it does not say. */
function countTokens({ generations, llmOutput }: Answer): number | undefined {
  const { input_tokens: given, output_tokens: made } =
    generations?.[0]?.[0]?.message?.usage_metadata ?? {};
  const { promptTokens, completionTokens } = llmOutput?.tokenUsage ?? {};
  const counts = [given ?? promptTokens, made ?? completionTokens].filter(
    (count) => Number.isInteger(count) && count! >= 0,
  );
  return counts.length === 0 ? undefined : counts.reduce<number>((sum, count) => sum + count!, 0);
}

/**
 * Returns a callback handler for the config of a graph, and the function that returns its count: none of a run in which
 * a model did not say, and 0 of one without models.
 */
export function createTokenCounter(): { handler: object; count: () => number | undefined } {
  let sum = 0;
  let isWhole = true;
  const handler = {
    name: 'gx-tokens',
    awaitHandlers: true,
    raiseError: false,
    copy: () => handler,
    handleLLMEnd: (output: unknown) => {
      const tokens = countTokens(output ?? {});
      if (tokens === undefined) isWhole = false;
      else sum += tokens;
    },
  };
  return { handler, count: () => (isWhole ? sum : undefined) };
}
