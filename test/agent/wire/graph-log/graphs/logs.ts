import { createRequire } from 'node:module';
import { setTimeout as wait } from 'node:timers/promises';
import { Annotation, END, START, StateGraph } from '@langchain/langgraph';
import { getLogger } from '@langchain/langgraph-sdk/logging';

const State = Annotation.Root({ name: Annotation<string>() });

// Most graphs ask for their logger while the module loads.
const logger = getLogger();
logger.info('loaded');
console.log('a print while it loads');

/** Another copy of the SDK. */
const copy = createRequire(import.meta.url)('@langchain/langgraph-sdk/logging') as {
  getLogger: typeof getLogger;
};

export const graph = new StateGraph(State)
  .addNode('greet', async ({ name }) => {
    logger
      .info(`hello ${name}`, { input: name, level: 'loud', password: 'hunter2' })
      .warn({ message: 'an object', count: 2 });
    await wait(50);
    copy.getLogger().error(`later ${name}`, new Error('broken'));
    logger.debug('too quiet');
    console.log('a print of %s', name, { count: 2 });
    console.error('a complaint of', name);
    void Promise.reject(new Error(`nobody waits for ${name}`));
    return {};
  })
  .addEdge(START, 'greet')
  .addEdge('greet', END)
  .compile();
