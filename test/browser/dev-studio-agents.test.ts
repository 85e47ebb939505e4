import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { AGENTS } from '../matrix/rows.ts';
import { installed } from './packages.ts';
import { studioOfDev } from './studio-of-dev.ts';

/* Agents as the packages `langchain` and `deepagents` build them, and our own examples, in the studio as they are. */

const EXAMPLES = ['approval', 'memory', 'new', 'subagents', 'tools'];

const studio = studioOfDev(
  async () => {
    const folder = await installed(AGENTS);
    for (const file of ['graphs.js', 'scripted-model.js'])
      cpSync(join('test/matrix/agents', file), join(folder, file));
    const examples = Object.fromEntries(
      EXAMPLES.map((name) => [name, `examples/${name}/graph.ts:graph`]),
    );
    const graphs = {
      langchain: `${folder}/graphs.js:agent`,
      deepagents: `${folder}/graphs.js:deep`,
      ...examples,
    };
    return { graphs, dotEnv: '' };
  },
  { patience: 600_000 },
);

/** Says something to an agent in a new chat, and waits until its run has ended. */
async function say(graph: string, words: string): Promise<void> {
  await studio.tab.press('New chat');
  const option = `[...document.querySelectorAll('[name=assistant] option')].find(({ text }) => text === '${graph}')`;
  await studio.tab.until('its graph is there', `${option} !== undefined`);
  await studio.tab.page.evaluate(`(() => {
    const select = document.querySelector('[name=assistant]');
    select.value = ${option}.value;
    select.dispatchEvent(new Event('change', { bubbles: true }));
  })()`);
  await studio.tab.page.type('[name=text]', `${words}\n`);
  await studio.tab.until('it has answered', `document.querySelector('.log li.agent') !== null`, 60);
  await studio.tab.until(
    'it has ended',
    `document.querySelector('.chat')?.getAttribute('aria-busy') === 'false'`,
    60,
  );
  expect(await studio.tab.texts('.fault')).toEqual([]);
}

const tools = (): Promise<string> =>
  studio.tab.page.evaluate(
    `[...document.querySelectorAll('.log > .messages > li:not(.nested) details')].map((one) => one.textContent).join()`,
  );
const nested = async (): Promise<string> => (await studio.tab.texts('.nested')).join();

test.each([
  ['langchain', 'Bring an umbrella to Kyoto.', 'forecast', 'Take an umbrella.'],
  ['deepagents', 'Tea comes from Asia.', 'task', 'Tea grows in Asia.'],
])(
  'an agent of %s answers, with its tool and its subagent, also when it is loaded again',
  async (graph, answer, tool, inner) => {
    await say(graph, 'Where?');
    await studio.tab.shows(answer);
    expect(await tools()).toContain(tool);
    await expect.poll(nested).toContain(inner);
    await studio.tab.page.reload();
    await studio.tab.shows(answer);
    await expect.poll(nested).toContain(inner);
    expect(await nested()).not.toContain('User');
    await studio.tab.press('Graph');
    await studio.tab.until(
      'it is drawn',
      `document.querySelectorAll('.drawing .node').length >= 3`,
    );
    await studio.tab.press('History');
    await studio.tab.until(
      'it has a history',
      `document.querySelectorAll('[role=option]').length >= 3`,
    );
  },
);

test.each(EXAMPLES)('the example %s answers', async (graph) => {
  await say(graph, 'hello');
  expect((await studio.tab.text('.log li.agent')).length).toBeGreaterThan('Agent'.length);
});
