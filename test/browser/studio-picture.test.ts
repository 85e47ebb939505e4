import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { studioOfDev } from './studio-of-dev.ts';

/* The picture of the studio in README.md. The test draws it; with GX_WRITE_PICTURES=1 it writes it. */

const FOLDER = new URL('../../docs/how-to/pictures/', import.meta.url);
const LEAST_BYTES = 10_000;

const studio = studioOfDev(() => ({
  graphs: {
    approval: 'examples/approval/graph.ts:graph',
    tools: 'examples/tools/graph.ts:graph',
  },
  dotEnv: '',
}));

/** Says something on a thread of its own. Returns its id. */
async function say(graph: string, words: string): Promise<string> {
  const { thread_id: id } = await studio.post<{ thread_id: string }>('/threads', {
    metadata: { graph_id: graph },
  });
  const input = { messages: [{ role: 'human', content: words }] };
  await studio.post(`/threads/${id}/runs/wait`, { assistant_id: graph, input });
  return id;
}

const hasEnded = `document.querySelector('.chat')?.getAttribute('aria-busy') === 'false'`;

test('the picture "studio" is drawn, and README.md has it', async () => {
  await say('tools', 'Roll a dice with 20 sides.');
  await say('tools', 'What is the weather in London?');
  await say('approval', 'Write to Ann that the meeting moves to Thursday.');
  await say('approval', 'Invite the team to the boat trip.');
  const id = await say('tools', 'Good morning! What can you do?');
  await studio.tab.page.reload();
  await studio.tab.shows('What is the weather in London?');
  await studio.tab.page.evaluate(`document.documentElement.dataset.theme = 'light'`);
  await studio.tab.page.click(`.thread-list a[href="#/${id}"]`);
  await studio.tab.shows('Ask me for the weather');
  await studio.tab.page.type('[name=text]', 'What is the weather in Oslo?\n');
  await studio.tab.shows('snow, -3');
  await studio.tab.until('it has ended', hasEnded);
  await studio.tab.page.evaluate(`[...document.querySelectorAll('.tool')].at(-1).open = true`);
  await studio.tab.page.evaluate(`document.activeElement.blur()`);
  await studio.tab.page.evaluate(`document.querySelector('.log').scrollTo(0, 10_000)`);
  const { data } = (await studio.tab.session.send('Page.captureScreenshot', { format: 'png' })) as {
    data: string;
  };
  const picture = Buffer.from(data, 'base64');
  expect(picture.length).toBeGreaterThan(LEAST_BYTES);
  const file = new URL('studio.png', FOLDER);
  if (process.env['GX_WRITE_PICTURES'] === '1') {
    mkdirSync(FOLDER, { recursive: true });
    writeFileSync(file, picture);
  }
  expect(statSync(file).size).toBeGreaterThan(LEAST_BYTES);
});
