import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import { join } from 'node:path';
import type { AddressInfo } from 'node:net';
import axe from 'axe-core';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { launch, type Browser } from '../chromium.ts';
import { OpenConsole } from '../console/open-console.ts';
import { readFontScript } from './fonts.ts';

/*
 * The page of all parts, beside the pictures of it in this folder. With GX_WRITE_PICTURES=1 it writes them. Browsers
 * draw letters a little differently, so colours of small squares are compared, and few of them may differ.
 */

const PAGE = 'src/console/page/parts';
const HTML =
  '<!doctype html><html lang="en"><meta charset="utf-8"><title>Parts</title><link rel="icon" href="data:,"><link rel="stylesheet" href="parts.css"><div id="page"></div><script type="module" src="parts-page.js"></script></html>';

let server: Server;
let browser: Browser;
let tab: OpenConsole;

beforeAll(async () => {
  const { outputFiles } = await build({
    entryPoints: [`${PAGE}/parts-page.tsx`, `${PAGE}/parts.css`],
    outdir: '.',
    bundle: true,
    format: 'esm',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    define: { REASON_MEANINGS: '{}' },
    write: false,
    logLevel: 'silent',
  });
  server = createServer(({ url = '' }, response) => {
    const file = outputFiles.find(({ path }) => path.endsWith(url) && url !== '/');
    const type = url.endsWith('.css') ? 'text/css' : 'text/javascript';
    response.setHeader('content-type', file === undefined ? 'text/html' : type);
    response.end(file?.contents ?? HTML);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { chromium, packages } = inject('browser');
  browser = await launch(chromium, packages);
  tab = await OpenConsole.open(
    browser,
    `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
  );
  await tab.page.evaluate(await readFontScript());
  await tab.until('its Markdown is read', `document.querySelector('.markdown') !== null`);
  await tab.until('its fonts are read', `document.fonts.status === 'loaded'`);
});
afterAll(async () => {
  await browser?.close();
  server?.close();
  server?.closeAllConnections();
});

/**
 * Returns the shares of squares that differ between two pictures, a little and much: other letters in the same place
 * are a little, another colour of a surface is much.
 */
const compare = (one: Buffer, other: Buffer): Promise<{ little: number; much: number }> =>
  tab.page.evaluate(`(async () => {
    const SQUARE = 16;
    const read = async (data) => {
      const image = new Image();
      image.src = 'data:image/png;base64,' + data;
      await image.decode();
      const [width, height] = [Math.floor(image.width / SQUARE), Math.floor(image.height / SQUARE)];
      const canvas = new OffscreenCanvas(width, height);
      const context = canvas.getContext('2d');
      context.imageSmoothingQuality = 'high';
      context.drawImage(image, 0, 0, width, height);
      return context.getImageData(0, 0, width, height).data;
    };
    const [before, after] = [await read('${one.toString('base64')}'), await read('${other.toString('base64')}')];
    if (before.length !== after.length) return { little: 1, much: 1 };
    let [little, much] = [0, 0];
    for (let at = 0; at < before.length; at += 4) {
      const most = Math.max(...[0, 1, 2].map((part) => Math.abs(before[at + part] - after[at + part])));
      if (most > 24) little += 1;
      if (most > 90) much += 1;
    }
    return { little: (4 * little) / before.length, much: (4 * much) / before.length };
  })()`);

test.each(['light', 'dark'])('all parts look as they did, in %s', async (theme) => {
  await tab.resize(1280, 1500);
  await tab.page.evaluate(`document.documentElement.dataset.theme = '${theme}'`);
  await tab.session.send('Emulation.setEmulatedMedia', {
    features: [{ name: 'prefers-reduced-motion', value: 'reduce' }],
  });
  expect(await tab.accessibilityFaults(axe.source)).toEqual([]);
  const asked = { format: 'png' };
  const { data } = (await tab.session.send('Page.captureScreenshot', asked)) as { data: string };
  const picture = Buffer.from(data, 'base64');
  const file = new URL(`parts-${theme}.png`, import.meta.url);
  const { GX_SCREENS: folder, GX_WRITE_PICTURES: isWritten } = process.env;
  if (folder !== undefined) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `parts-${theme}.png`), picture);
  }
  if (isWritten === '1') writeFileSync(file, picture);
  const { little, much } = await compare(picture, readFileSync(file));
  expect(little).toBeLessThan(0.08);
  expect(much).toBeLessThan(0.004);
});

test('a dialog has the focus, and gives it back', async () => {
  await tab.press('Open the dialog');
  await tab.until('it is open', `document.querySelector('dialog[open]') !== null`);
  expect(await tab.accessibilityFaults(axe.source)).toEqual([]);
  await tab.keys('Escape');
  await tab.until('it is closed', `document.querySelector('dialog') === null`);
  expect(tab.failures).toEqual([]);
});
