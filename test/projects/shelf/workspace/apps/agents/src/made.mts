import type { LangGraphRunnableConfig } from '@langchain/langgraph';
import { entrypoint, task } from '@langchain/langgraph';

const double = task('double', async (number: number) => number * 2);

export const makeGraph = async (config: LangGraphRunnableConfig) => {
  const by = Number(config.configurable?.['by'] ?? 1);
  return entrypoint({ name: 'made' }, async (input: { number: number }) => ({ doubled: (await double(input.number)) * by }));
};
