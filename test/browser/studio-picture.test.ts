import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { studioOfDev } from './studio-of-dev.ts';

/* The picture of the studio in README.md. The test draws it. With GX_WRITE_PICTURES=1 it writes it. */

const FOLDER = new URL('../../docs/how-to/pictures/', import.meta.url);
const LEAST_BYTES = 10_000;

const studio = studioOfDev(() => ({
  graphs: { tools: 'examples/tools/graph.ts:graph' },
  dotEnv: '',
}));

test('the picture "studio" is drawn, and README.md has it', async () => {
  const { thread_id: id } = await studio.post<{ thread_id: string }>('/threads', {
    metadata: { title: 'The weather in Oslo' },
  });
  const input = { messages: [{ role: 'human', content: 'What is the weather in Oslo?' }] };
  await studio.post(`/threads/${id}/runs/wait`, { assistant_id: 'tools', input });
  await studio.tab.page.reload();
  await studio.tab.shows('The weather in Oslo');
  await studio.tab.page.evaluate(`document.documentElement.dataset.theme = 'light'`);
  await studio.tab.page.click(`.thread-list a[href="#/${id}"]`);
  await studio.tab.shows('What is the weather in Oslo?');
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
